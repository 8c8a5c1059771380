import { fault, notParsed, type RequestTable } from '../../support/request-table.ts'

export const grammar: RequestTable = {
  title: 'errors of the query string',
  rows: [
    {
      send: ['GET', '/cars?id=1'],
      status: 400,
      body: notParsed('filter (1)', 1, 'unexpected "1" expecting "not" or operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=eq1'],
      status: 400,
      body: notParsed('filter (eq1)', 3, 'unexpected "1" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=xx.1'],
      status: 400,
      body: notParsed('filter (xx.1)', 1, 'unexpected "x" expecting "not" or operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=not.1'],
      status: 400,
      body: notParsed('filter (not.1)', 5, 'unexpected "1" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=not.not.eq.1'],
      status: 400,
      body: notParsed('filter (not.not.eq.1)', 5, 'unexpected "n" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id='],
      status: 400,
      body: notParsed('filter ()', 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=in.1'],
      status: 400,
      body: notParsed('filter (in.1)', 4, 'unexpected "1" expecting "("'),
    },
    {
      send: ['GET', '/cars?id=in.(1'],
      status: 400,
      body: notParsed('filter (in.(1)', 6, 'unexpected end of input expecting "," or ")"'),
    },
    {
      send: ['GET', '/cars?id=is.nil'],
      status: 400,
      body: notParsed('filter (is.nil)', 5, 'unexpected "i" expecting isVal: (null, not_null, true, false, unknown)'),
    },
    {
      send: ['GET', '/cars?id=is.'],
      status: 400,
      body: notParsed(
        'filter (is.)',
        4,
        'unexpected end of input expecting isVal: (null, not_null, true, false, unknown)',
      ),
    },
    {
      send: ['GET', '/cars?id=eq(some).1'],
      status: 400,
      body: notParsed('filter (eq(some).1)', 4, 'unexpected "s" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=eq(any.1'],
      status: 400,
      body: notParsed('filter (eq(any.1)', 7, 'unexpected "." expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=neq(any).1'],
      status: 400,
      body: notParsed('filter (neq(any).1)', 4, 'unexpected "(" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?words=fts(english.car'],
      status: 400,
      body: notParsed('filter (fts(english.car)', 12, 'unexpected "." expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?words=fts().car'],
      status: 400,
      body: notParsed('filter (fts().car)', 5, 'unexpected ")" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?id=in(1)'],
      status: 400,
      body: notParsed('filter (in(1))', 3, 'unexpected "(" expecting operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?select=id,'],
      status: 400,
      body: notParsed(
        'select parameter (id,)',
        4,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    },
    {
      send: ['GET', '/cars?select=id,,label'],
      status: 400,
      body: notParsed(
        'select parameter (id,,label)',
        4,
        'unexpected "," expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    },
    {
      send: ['GET', '/cars?select=id('],
      status: 400,
      body: notParsed(
        'select parameter (id()',
        4,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    },
    {
      send: ['GET', '/cars?select=models('],
      status: 400,
      body: notParsed(
        'select parameter (models()',
        8,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    },
    {
      send: ['GET', '/cars?select=models(id'],
      status: 400,
      body: notParsed(
        'select parameter (models(id)',
        10,
        'unexpected end of input expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?select=models(*,'],
      status: 400,
      body: notParsed(
        'select parameter (models(*,)',
        10,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*" or "count()"',
      ),
    },
    {
      send: ['GET', '/cars?select=id::'],
      status: 400,
      body: notParsed('select parameter (id::)', 5, 'unexpected end of input expecting letter or digit'),
    },
    {
      send: ['GET', '/cars?select=a:'],
      status: 400,
      body: notParsed(
        'select parameter (a:)',
        3,
        'unexpected end of input expecting ":" or field name (* or [a..z0..9_$])',
      ),
    },
    {
      send: ['GET', '/cars?select=details->'],
      status: 400,
      body: notParsed(
        'select parameter (details->)',
        10,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    },
    {
      send: ['GET', '/cars?select=details->>'],
      status: 400,
      body: notParsed(
        'select parameter (details->>)',
        11,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    },
    {
      send: ['GET', '/cars?select=details->a->'],
      status: 400,
      body: notParsed(
        'select parameter (details->a->)',
        13,
        'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()',
      ),
    },
    {
      send: ['GET', '/cars?select=id.sum'],
      status: 400,
      body: notParsed('select parameter (id.sum)', 7, 'unexpected end of input expecting "()"'),
    },
    {
      send: ['GET', '/cars?select=id.sum('],
      status: 400,
      body: notParsed('select parameter (id.sum()', 7, 'unexpected end of input expecting "()"'),
    },
    {
      send: ['GET', '/cars?select=id.median()'],
      status: 400,
      body: notParsed(
        'select parameter (id.median())',
        4,
        'unexpected "m" expecting "sum", "avg", "count", "max" or "min"',
      ),
    },
    {
      send: ['GET', '/cars?select=...models('],
      status: 400,
      body: notParsed(
        'select parameter (...models()',
        11,
        'unexpected end of input expecting "...", field name (* or [a..z0..9_$]), "*", "count()" or ")"',
      ),
    },
    {
      send: ['GET', '/cars?select=models!(id)'],
      status: 400,
      body: notParsed(
        'select parameter (models!(id))',
        7,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?select=models!a!b!c(id)'],
      status: 400,
      body: notParsed(
        'select parameter (models!a!b!c(id))',
        7,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?select=x y z(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'x y z' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'x y z' in the schema 'garage', but no matches were found.",
        "'cars' is related to 'empty_lot', 'lends', 'maker_models', 'makers', 'model_names' and 7 more.",
      ),
    },
    {
      send: ['GET', '/cars?select=id!inner'],
      status: 400,
      body: notParsed(
        'select parameter (id!inner)',
        3,
        'unexpected \'!\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?select="id'],
      status: 400,
      body: notParsed('select parameter ("id)', 4, 'unexpected end of input expecting "\\\\" or "\\""'),
    },
    { send: ['GET', '/cars?select=id;&id=eq.1'], body: [{ id: 1 }] },
    {
      send: ['GET', '/cars?select=count()x'],
      status: 400,
      body: notParsed(
        'select parameter (count()x)',
        6,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", "::", ".", ")", "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?select=a:b:id'],
      status: 400,
      body: notParsed('select parameter (a:b:id)', 4, 'unexpected "i" expecting "::"'),
    },
    {
      send: ['GET', '/cars?order='],
      status: 400,
      body: notParsed('order ()', 1, 'unexpected end of input expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?order=id.up'],
      status: 400,
      body: notParsed('order (id.up)', 4, 'unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
    },
    {
      send: ['GET', '/cars?order=id.desc.nulls'],
      status: 400,
      body: notParsed('order (id.desc.nulls)', 9, 'unexpected end of input expecting "nullsfirst" or "nullslast"'),
    },
    {
      send: ['GET', '/cars?order=id.nullsfirst.desc'],
      status: 400,
      body: notParsed('order (id.nullsfirst.desc)', 14, 'unexpected \'.\' expecting "," or end of input'),
    },
    {
      send: ['GET', '/cars?order=.desc'],
      status: 400,
      body: notParsed('order (.desc)', 1, 'unexpected "." expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?order=id,'],
      status: 400,
      body: notParsed('order (id,)', 4, 'unexpected end of input expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?order=models(id'],
      status: 400,
      body: notParsed(
        'order (models(id)',
        7,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?order=models(id).up'],
      status: 400,
      body: notParsed(
        'order (models(id).up)',
        7,
        'unexpected \'(\' expecting letter, digit, "-", "->>", "->", delimiter (.), "," or end of input',
      ),
    },
    {
      send: ['GET', '/cars?order=id.desc.nullsfirst.x'],
      status: 400,
      body: notParsed('order (id.desc.nullsfirst.x)', 19, 'unexpected \'.\' expecting "," or end of input'),
    },
    {
      send: ['GET', '/cars?order=models(name)'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/cars?order=(id)'],
      status: 400,
      body: notParsed('order ((id))', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?select=id&limit=x&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?limit=-1'],
      status: 416,
      body: fault('PGRST103', 'Requested range not satisfiable', 'Limit should be greater than or equal to zero.'),
    },
    {
      send: ['GET', '/cars?offset=-1&select=id&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?limit=1.5&select=id&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?(.offset=3&select=id'],
      status: 400,
      body: notParsed('tree path ((.limit)', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?models.(x.limit=1&select=id,models(id)'],
      status: 400,
      body: notParsed('tree path (models.(x.limit)', 8, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?models.limit=1'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/cars?models.order=id'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/cars?models.id=eq.1'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/cars?models.or=(id.eq.1)'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/cars?.id=eq.1'],
      status: 400,
      body: notParsed('tree path (.id)', 1, 'unexpected "." expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?id.=eq.1'],
      status: 400,
      body: notParsed('tree path (id.)', 4, 'unexpected end of input expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?a.b.c=eq.1&select=id'],
      status: 400,
      body: fault(
        'PGRST108',
        "'a' is not an embedded resource in this request",
        null,
        "Verify that 'a' is included in the 'select' query parameter.",
      ),
    },
    { send: ['GET', '/cars?columns=id&select=id&id=eq.1'], body: [{ id: 1 }] },
    {
      send: ['GET', '/cars?columns=('],
      status: 400,
      body: notParsed('columns parameter (()', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    },
    {
      send: ['GET', '/cars?on_conflict=('],
      status: 400,
      body: notParsed('on_conflict parameter (()', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
    },
    { send: ['GET', '/cars?on_conflict=id&select=id&id=eq.1'], body: [{ id: 1 }] },
    { send: ['GET', '/plates?select&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
    { send: ['GET', '/cars?order&select=id&id=eq.1'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?id&select=id&limit=1&order=id'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?&&select=id&id=eq.1'], body: [{ id: 1 }] },
  ],
}
