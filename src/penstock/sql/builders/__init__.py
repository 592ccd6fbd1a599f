"""From the grammar's parse tree to the AST: one function per grammar rule, by family."""
