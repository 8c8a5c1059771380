// What the page of policies and the explanations exchange with their routes. The page imports these types, too, so this file
// imports nothing.

export type SqlCommand = 'select' | 'insert' | 'update' | 'delete'

export type CheckFinding = {
  /** Name of the lint. */
  readonly code: string
  readonly level: 'INFO' | 'WARN' | 'ERROR'
  /** `table`, `view`, `function`, … */
  readonly type: string
  /** `schema.name` */
  readonly object: string
  /** Identifies the finding. */
  readonly key: string
  readonly title: string
  readonly category: 'PERFORMANCE' | 'SECURITY'
  readonly reason: string
  /** Statements that mend it; null when only a person can decide how. */
  readonly fix: string | null
  readonly advice: string | null
  /** Documentation of lints that Supabase has as well. */
  readonly url: string | null
}

export type MatrixPolicy = {
  readonly name: string
  readonly command: SqlCommand | 'all'
  readonly permissive: boolean
  /** The roles of requests that it applies to. */
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
}

/** What lets which role through to the rows of a table or view. */
export type MatrixRelation = {
  readonly kind: 'table' | 'foreign table' | 'view' | 'materialized view'
  readonly schema: string
  readonly name: string
  readonly owner: string
  readonly rls: boolean
  readonly securityInvoker: boolean
  readonly roles: readonly {
    readonly name: string
    readonly bypassesRls: boolean
    readonly grants: Readonly<Record<SqlCommand, 'all' | 'columns' | null>>
  }[]
  readonly policies: readonly MatrixPolicy[]
  /** What is at risk, for people. */
  readonly risks: readonly string[]
}

/** `GET /console/api/check` */
export type CheckReport = {
  readonly findings: readonly CheckFinding[]
  /** Number of findings that the project accepts. */
  readonly ignored: number
  /** Where the check could not look, for people. */
  readonly unseen: readonly string[]
  readonly relations: readonly MatrixRelation[]
}

/** Body of `POST /console/api/check/fixes` */
export type FixRequest = {
  /** Keys of the findings to mend; all of them by default. */
  readonly keys?: readonly string[]
  /** Whether to write also what changes what roles may do today. */
  readonly yes?: boolean
}

export type FixReport = {
  /** The migration; null if nothing was written. */
  readonly written: string | null
  readonly fixes: readonly {
    readonly code: string
    readonly object: string
    /** `unconfirmed`: it changes what a role may do, without agreement. */
    readonly outcome: 'written' | 'unconfirmed' | 'failed'
    readonly changes: readonly {
      readonly role: string
      readonly object: string
      readonly command: string
      readonly before: string
      readonly after: string
    }[]
    readonly error: string | null
  }[]
  /** Policy tests with other results; undefined without tests. */
  readonly tests?: { readonly different: readonly string[]; readonly error: string | null }
}

/** A caller of a policy test: an address, a name or a role; or a role with claims. */
export type TestCaller = string | { readonly role?: string; readonly claims?: Readonly<Record<string, unknown>> }

/** Body of `POST /console/api/policy-tests`: a test as in the files. */
export type NewPolicyTest = {
  readonly name: string
  readonly as: TestCaller
  /** Method and path. */
  readonly request: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status?: number
  readonly rows?: number
  /** Code of an error. */
  readonly error?: string
}

/** Body of `POST /console/api/policy-tests/accepted`: a mutant that no test needs to notice. */
export type AcceptedMutant = { readonly mutant: string; readonly reason: string }

/** `GET /console/api/policy-tests` */
export type PolicyTests = {
  /** Folder of the tests, which may not exist. */
  readonly folder: string
  readonly files: readonly {
    readonly path: string
    readonly tests: readonly { readonly name: string; readonly line: number; readonly request: string }[]
    /** Number of cells of the recorded matrix. */
    readonly cells: number
    readonly accepted: readonly { readonly mutant: string; readonly reason: string }[]
  }[]
  /** What is wrong with the files; null if nothing is. */
  readonly error: string | null
  readonly run: PolicyTestRun | null
}

/** Body of `POST /console/api/policy-tests/run` */
export type RunRequest = {
  readonly kind: 'tests' | 'coverage' | 'mutants' | 'record'
  /** Only tests whose name contains this text. */
  readonly filter?: string
}

export type RunTest = {
  readonly name: string
  readonly file: string
  readonly line: number
  /** What differs from what is expected; null: it passed. */
  readonly problem: Readonly<Record<string, unknown>> | null
}

export type RunMutant = {
  readonly id: string
  /** `schema.name` of the table or function that is changed. */
  readonly object: string
  /** The policy that is changed, if it is one. */
  readonly policy: string | null
  /** The command whose rows the change is about; null for all of them. */
  readonly command: SqlCommand | null
  /** The roles that may notice it; null if that is any. */
  readonly roles: readonly string[] | null
  readonly sql: readonly string[]
  readonly outcome: 'noticed' | 'unnoticed' | 'accepted'
  /** Name of the test that noticed it. */
  readonly by: string | null
  readonly reason: string | null
  readonly error: string | null
}

/** `GET /console/api/policy-tests/run`: the current or the last run. Without requests for it, a run is cancelled. */
export type PolicyTestRun = {
  readonly kind: RunRequest['kind']
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  /** What is done at the moment. */
  readonly stage: string
  readonly error: string | null
  readonly tests: readonly RunTest[]
  readonly mutants: readonly RunMutant[]
  readonly comments: readonly string[]
  /** Of a recording: the file, and what has changed in it. */
  readonly recorded: { readonly path: string; readonly changes: readonly string[]; readonly isNew: boolean } | null
}

/** Body of `POST /console/api/explain` */
export type ExplainRequest = {
  /** Method and path: `GET /rest/v1/tasks?select=*`. */
  readonly request: string
  /** `Name: value` each. */
  readonly headers?: readonly string[]
  readonly body?: string
  readonly caller: { readonly role: string } | { readonly user: string }
  /** Functions whose effects are accepted. */
  readonly trusted?: readonly string[]
}

/** A part of a policy's condition that is either true or false for a row. */
export type ShownTest = {
  readonly text: string
  /** The same with the values of the caller's claims in place of the functions that look them up. */
  readonly resolved: string
  /** For a denied row: the result. Null is unknown, which denies as well. */
  readonly result?: boolean | null
}

export type ShownDenial = {
  readonly name: string
  readonly permissive: boolean
  readonly command: SqlCommand | 'all'
  readonly clause: 'using' | 'with check'
  /** The tests that are not true. */
  readonly tests: readonly ShownTest[]
  /** The columns that these tests depend on, with their values if the caller may know them. */
  readonly columns: Readonly<Record<string, unknown>>
}

export type ShownRelation = {
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly role: string
  /** Null if the request names the relation; otherwise the view or policy that uses it. */
  readonly through: string | null
  readonly commands: readonly SqlCommand[]
  /** `on`, `off`, or `bypassed`: the role is not subject to row-level security. */
  readonly rowSecurity: 'on' | 'off' | 'bypassed'
  /** Those that apply to the role and the commands. */
  readonly policies: readonly {
    readonly name: string
    readonly permissive: boolean
    readonly command: SqlCommand | 'all'
    readonly roles: readonly string[]
    readonly using: string | null
    readonly check: string | null
    /** The expressions with values in place of look-ups; without look-ups, the same text. */
    readonly usingResolved: string | null
    readonly checkResolved: string | null
    /** How many of the examined rows pass its USING expression; null if none were examined. */
    readonly passes: number | null
  }[]
  /** Rows that were examined with the policies; null if none were. */
  readonly examined: { readonly rows: number; readonly allowed: number; readonly isComplete: boolean } | null
}

/** `POST /console/api/explain`: what the page shows of an explanation, as `rowhouse explain --json` prints it. */
export type ShownExplanation = {
  readonly request: {
    readonly method: string
    readonly target: string
    readonly role: string
    readonly claims: Readonly<Record<string, unknown>>
  }
  /** The response that the request would get; null if it was not run. */
  readonly response: {
    readonly status: number
    readonly error: unknown
    readonly contentRange: string | null
  } | null
  readonly effects: {
    readonly refused: readonly {
      readonly object: string
      readonly reason: string
      readonly through: readonly string[]
    }[]
    readonly remaining: readonly string[]
  }
  /** Without the statement that sets role and claims. */
  readonly statements: readonly { readonly sql: string; readonly values: readonly (string | null)[] }[]
  readonly relations: readonly ShownRelation[]
  readonly rows: {
    /** Rows that match the filters, or rows of the body; null if no role is available that bypasses policies. */
    readonly before: number | null
    /** The rows that the caller sees or changes; null if the request fails. */
    readonly after: number | null
  }
  readonly denied: {
    /** What the response says, or why fewer rows are changed than match. */
    readonly reason: 'privileges' | 'policies'
    readonly privileges: readonly ShownPrivilege[]
    /** At most ten. */
    readonly rows: readonly {
      readonly relation: string
      /** `new`: a row to be written; `existing`: a row that is hidden, or may not be changed. */
      readonly kind: 'new' | 'existing'
      /** Number of the row in the body, from 1; null for an existing row. */
      readonly row: number | null
      /** Primary key of an existing row; null for a row of the body. */
      readonly key: Readonly<Record<string, unknown>> | null
      /** The policies that deny it: a restrictive one that is not true, or all permissive ones, none of which is true. */
      readonly policies: readonly ShownDenial[]
    }[]
  } | null
  /** PostgreSQL's execution plan with times and buffers, in its JSON format; null if the request fails. */
  readonly plan: unknown
  readonly cost: {
    /** Difference of the medians, in milliseconds. Negative if the policies save more work than they cause. */
    readonly milliseconds: number
    /** The role that ran without policies. */
    readonly bypassedBy: string
  } | null
  readonly notes: readonly string[]
}

/** A missing privilege. */
export type ShownPrivilege = { readonly grant: string }
