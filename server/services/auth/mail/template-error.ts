/** A template of mails that cannot be parsed. The message says why, but not which template. */
export class TemplateError extends Error {}
