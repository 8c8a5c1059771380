import { fault, notParsed, type Topic } from '../support/exchange.ts'

export const grammar: Topic = {
  title: 'errors of the query string',
  exchanges: [
    ['/cars?id=1', notParsed('filter (1)', 1, 'unexpected "1" expecting "not" or operator (eq, gt, ...)')],
    ['/cars?id=eq1', notParsed('filter (eq1)', 3, 'unexpected "1" expecting operator (eq, gt, ...)')],
    ['/cars?id=xx.1', notParsed('filter (xx.1)', 1, 'unexpected "x" expecting "not" or operator (eq, gt, ...)')],
    ['/cars?id=not.1', notParsed('filter (not.1)', 5, 'unexpected "1" expecting operator (eq, gt, ...)')],
    ['/cars?id=not.not.eq.1', notParsed('filter (not.not.eq.1)', 5, 'unexpected "n" expecting operator (eq, gt, ...)')],
    ['/cars?id=', notParsed('filter ()', 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)')],
    ['/cars?id=in.1', notParsed('filter (in.1)', 4, 'unexpected "1" expecting "("')],
    ['/cars?id=in.(1', notParsed('filter (in.(1)', 6, 'unexpected end of input expecting "," or ")"')],
    [
      '/cars?id=is.nil',
      notParsed('filter (is.nil)', 5, 'unexpected "i" expecting isVal: (null, not_null, true, false, unknown)'),
    ],
    [
      '/cars?id=is.',
      notParsed('filter (is.)', 4, 'unexpected end of input expecting isVal: (null, not_null, true, false, unknown)'),
    ],
    ['/cars?id=eq(some).1', notParsed('filter (eq(some).1)', 4, 'unexpected "s" expecting operator (eq, gt, ...)')],
    ['/cars?id=eq(any.1', notParsed('filter (eq(any.1)', 7, 'unexpected "." expecting operator (eq, gt, ...)')],
    ['/cars?id=neq(any).1', notParsed('filter (neq(any).1)', 4, 'unexpected "(" expecting operator (eq, gt, ...)')],
    [
      '/cars?words=fts(english.car',
      notParsed('filter (fts(english.car)', 12, 'unexpected "." expecting operator (eq, gt, ...)'),
    ],
    ['/cars?words=fts().car', notParsed('filter (fts().car)', 5, 'unexpected ")" expecting operator (eq, gt, ...)')],
    ['/cars?id=in(1)', notParsed('filter (in(1))', 3, 'unexpected "(" expecting operator (eq, gt, ...)')],
    [
      '/cars?select=id,',
      notParsed(
        'select parameter (id,)',
        4,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    ],
    ['/plates?select=,id&car_id=eq.1', [{ car_id: 1, plate: 'AB 12' }]],
    [
      '/cars?select=id,,label',
      notParsed(
        'select parameter (id,,label)',
        4,
        'unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    ],
    ['/plates?select=(id)&car_id=eq.1', [{ car_id: 1, plate: 'AB 12' }]],
    [
      '/cars?select=id(',
      notParsed(
        'select parameter (id()',
        4,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    ],
    [
      '/cars?select=models(',
      notParsed(
        'select parameter (models()',
        8,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    ],
    [
      '/cars?select=models(id',
      notParsed(
        'select parameter (models(id)',
        10,
        'unexpected end of input expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    ],
    ['/cars?select=models(id))&id=eq.1', [{ models: { id: 1 } }]],
    [
      '/cars?select=models(*,',
      notParsed(
        'select parameter (models(*,)',
        10,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    ],
    ['/cars?select=id::', notParsed('select parameter (id::)', 5, 'unexpected end of input expecting letter or digit')],
    ['/plates?select=:id&car_id=eq.1', [{ car_id: 1, plate: 'AB 12' }]],
    [
      '/cars?select=a:',
      notParsed('select parameter (a:)', 3, 'unexpected end of input expecting ":" or field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?select=details->',
      notParsed(
        'select parameter (details->)',
        10,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    ],
    [
      '/cars?select=details->>',
      notParsed(
        'select parameter (details->>)',
        11,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    ],
    [
      '/cars?select=details->a->',
      notParsed(
        'select parameter (details->a->)',
        13,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    ],
    ['/cars?select=id.sum', notParsed('select parameter (id.sum)', 7, 'unexpected end of input expecting "()"')],
    ['/cars?select=id.sum(', notParsed('select parameter (id.sum()', 7, 'unexpected end of input expecting "()"')],
    [
      '/cars?select=id.median()',
      notParsed('select parameter (id.median())', 4, 'unexpected "m" expecting "sum", "avg", "count", "max" or "min"'),
    ],
    ['/plates?select=...models&car_id=eq.1', [{ car_id: 1, plate: 'AB 12' }]],
    [
      '/cars?select=...models(',
      notParsed(
        'select parameter (...models()',
        11,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    ],
    [
      '/cars?select=models!(id)',
      notParsed(
        'select parameter (models!(id))',
        7,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    ],
    [
      '/cars?select=models!a!b!c(id)',
      notParsed(
        'select parameter (models!a!b!c(id))',
        7,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    ],
    [
      '/cars?select=x y z(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'x y z' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'x y z' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/cars?select=id!inner',
      notParsed(
        'select parameter (id!inner)',
        3,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    ],
    ['/cars?select="id', notParsed('select parameter ("id)', 4, 'unexpected end of input expecting "\\\\" or "\\""')],
    ['/cars?select=id;&id=eq.1', [{ id: 1 }]],
    [
      '/cars?select=count()x',
      notParsed(
        'select parameter (count()x)',
        6,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    ],
    ['/cars?select=a:b:id', notParsed('select parameter (a:b:id)', 4, 'unexpected "i" expecting "::"')],
    ['/cars?order=', notParsed('order ()', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])')],
    [
      '/cars?order=id.up',
      notParsed('order (id.up)', 4, 'unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
    ],
    [
      '/cars?order=id.desc.nulls',
      notParsed('order (id.desc.nulls)', 9, 'unexpected end of input expecting "nullsfirst" or "nullslast"'),
    ],
    [
      '/cars?order=id.nullsfirst.desc',
      notParsed('order (id.nullsfirst.desc)', 14, 'unexpected \'.\' expecting "," or end of input'),
    ],
    ['/cars?order=.desc', notParsed('order (.desc)', 1, 'unexpected "." expecting field name (* or [a..z0..9_$])')],
    [
      '/cars?order=id,',
      notParsed('order (id,)', 4, 'unexpected end of input expecting field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?order=models(id',
      notParsed(
        'order (models(id)',
        7,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
      ),
    ],
    [
      '/cars?order=models(id).up',
      notParsed(
        'order (models(id).up)',
        7,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
      ),
    ],
    [
      '/cars?order=id.desc.nullsfirst.x',
      notParsed('order (id.desc.nullsfirst.x)', 19, 'unexpected \'.\' expecting "," or end of input'),
    ],
    [
      '/cars?order=models(name)',
      fault(
        400,
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    ],
    ['/cars?order=(id)', notParsed('order ((id))', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])')],
    ['/cars?select=id&limit=x&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]],
    [
      '/cars?limit=-1',
      fault(416, 'PGRST103', 'Requested range not satisfiable', 'Limit should be greater than or equal to zero.'),
    ],
    ['/cars?offset=-1&select=id&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]],
    ['/cars?limit=1.5&select=id&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }]],
    ['/cars?models(.limit=1&select=id&id=eq.1', [{ id: 1 }]],
    [
      '/cars?(.offset=3&select=id',
      notParsed('tree path ((.limit)', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?models.(x.limit=1&select=id,models(id)',
      notParsed('tree path (models.(x.limit)', 8, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?models.limit=1',
      fault(
        400,
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    ],
    [
      '/cars?models.order=id',
      fault(
        400,
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    ],
    [
      '/cars?models.id=eq.1',
      fault(
        400,
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    ],
    [
      '/cars?models.or=(id.eq.1)',
      fault(
        400,
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    ],
    ['/cars?.id=eq.1', notParsed('tree path (.id)', 1, 'unexpected "." expecting field name (* or [a..z0..9_$])')],
    [
      '/cars?id.=eq.1',
      notParsed('tree path (id.)', 4, 'unexpected end of input expecting field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?a.b.c=eq.1&select=id',
      fault(
        400,
        'PGRST108',
        "'a' is not an embedded resource in this request",
        null,
        "Verify that 'a' is included in the 'select' query parameter.",
      ),
    ],
    ['/cars?columns=id&select=id&id=eq.1', [{ id: 1 }]],
    [
      '/cars?columns=(',
      notParsed('columns parameter (()', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    ],
    [
      '/cars?on_conflict=(',
      notParsed('on_conflict parameter (()', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    ],
    ['/cars?on_conflict=id&select=id&id=eq.1', [{ id: 1 }]],
    ['/plates?select&car_id=eq.1', [{ car_id: 1, plate: 'AB 12' }]],
    ['/cars?order&select=id&id=eq.1', [{ id: 1 }]],
    ['/cars?id&select=id&limit=1&order=id', [{ id: 1 }]],
    ['/cars?&&select=id&id=eq.1', [{ id: 1 }]],
  ],
}
