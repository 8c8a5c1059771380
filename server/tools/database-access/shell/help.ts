/** The text of `\?`. */
export const help = `A statement ends with a semicolon and may have several lines. Ctrl-C cancels a running statement.
This client is a part of rowhouse; \`rowhouse psql\` starts PostgreSQL's own psql where it is installed.

  \\d                 tables, views and sequences
  \\d NAME            columns, indexes, constraints, policies and triggers of a relation
  \\dt \\dv \\di \\ds    tables, views, indexes, sequences
  \\dn \\df \\du \\l     schemas, functions, roles, databases
  \\dp                privileges and policies
                     All take a pattern: \\dt auth.*  \\df *report*
  \\x \\t \\a           one line per column; rows only; no padding (on, off)
  \\timing            time of each statement
  \\i FILE            run a file
  \\g \\gx             run the statement that was entered, the latter with one line per column
  \\p \\r              print or discard the statement that is being entered
  \\echo TEXT         print a text
  \\q                 quit
`
