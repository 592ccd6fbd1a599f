"""Text of statements: lexer, grammar, parser, and formatting of the syntax tree."""
