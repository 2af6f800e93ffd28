/* The lexer, as a type: tokens are data from a stranger and checked by markdown.js itself. */
export class Lexer {
  constructor(options?: { gfm?: boolean; breaks?: boolean });
  lex(source: string): any[];
}
