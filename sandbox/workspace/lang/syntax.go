package lang

// A Syntax describes what comments, strings and regular expressions look like. Languages may share one.
//
// Lex does not use Formatted, HereDocs, Scalars, Alien, Lifetimes and Exact. They are for package
// orchestrator/edit/lex, which must be certain of a comment before it skips it.
type Syntax struct {
	Comments
	// Comments of embedded languages, or comments that only tools recognise.
	Inner Comments
	// Forms of strings, tried in this order.
	Strings []String
	// "'" begins a character literal.
	Char bool
	// "'" before a name may begin a lifetime: 'a.
	Lifetimes bool
	// A word with this suffix makes the string after it raw: r"…", r#"…"#, R"(…)"; "" for none.
	Raw string
	// Code may occur in f"{…}".
	Formatted bool
	// Words after which a slash begins a regular expression instead of a division; nil if no slash does.
	RegexAfter []string
	// Words after whose parenthesized condition it does so, too.
	RegexCondition []string
	// A mark begins a comment only after a space. Lex is stricter: it then reads no strings, and takes only lines that
	// are nothing else for comments.
	Spaced bool
	// Two slashes after anything but a space belong to an address.
	Addresses bool
	// "<<WORD" begins a text that ends at a line WORD, and code may occur in "$(…)".
	HereDocs bool
	// A line that ends in "|" or ">" begins an indented text.
	Scalars bool
	// A file that contains one of these is not plain text of the language.
	Alien []string
	// All of this together identifies every comment after code. Without Exact only lines that are nothing but a comment
	// are certain.
	Exact bool
}

// Comments are the marks of comments.
type Comments struct {
	Line  []string    // what begins one that runs to the end of its line
	Block [][2]string // what begins and ends one. A mark that begins with "=" stands first on its line
}

// A String is one form of strings.
type String struct {
	Open, Close string
	Escapes     bool   // a backslash takes the next character with it
	Lines       bool   // it may run over lines
	Hole        string // what begins code in it, up to "}"; "" for nothing
}

// Marks that families of languages share.
var (
	slashes   = Comments{Line: []string{"//"}, Block: [][2]string{{"/*", "*/"}}}
	hash      = Comments{Line: []string{"#"}}
	dashes    = Comments{Line: []string{"--"}, Block: [][2]string{{"/*", "*/"}}}
	angle     = Comments{Block: [][2]string{{"<!--", "-->"}}}
	double    = String{Open: `"`, Close: `"`, Escapes: true}
	single    = String{Open: "'", Close: "'", Escapes: true}
	literal   = String{Open: "'", Close: "'"}
	triple    = String{Open: `"""`, Close: `"""`, Escapes: true, Lines: true}
	triple1   = String{Open: "'''", Close: "'''", Escapes: true, Lines: true}
	backquote = String{Open: "`", Close: "`", Lines: true}
)

// What may precede the slash of a regular expression, in JavaScript and in Ruby.
var (
	scriptWords = []string{
		"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield", "instanceof", "default",
	}
	scriptConditions = []string{"if", "while", "for", "with"}
	rubyWords        = []string{"if", "elsif", "else", "unless", "while", "until", "when", "in", "then", "do", "and", "or", "not", "return"}
)

// The syntaxes.
var (
	none     = &Syntax{}
	pythonic = &Syntax{Comments: hash, Strings: []String{triple, triple1, double, single}, Formatted: true, Exact: true}
	golike   = &Syntax{Comments: slashes, Strings: []String{backquote, double}, Char: true, Exact: true}
	clike    = &Syntax{Comments: slashes, Strings: []String{double}, Char: true, Raw: "R", Exact: true}
	javalike = &Syntax{Comments: slashes, Strings: []String{triple, double}, Char: true, Exact: true}
	proto    = &Syntax{Comments: slashes, Strings: []String{double, single}, Exact: true}
	rustlike = &Syntax{Comments: slashes, Strings: []String{{Open: `"`, Close: `"`, Escapes: true, Lines: true}}, Char: true, Lifetimes: true, Raw: "r", Exact: true}
	script   = &Syntax{
		Comments: slashes, Strings: []String{{Open: "`", Close: "`", Escapes: true, Lines: true, Hole: "${"}, double, single},
		RegexAfter: scriptWords, RegexCondition: scriptConditions, Alien: []string{"</", "/>"}, Exact: true,
	}
	// Stylelint also recognises "//" in a style sheet.
	style = &Syntax{
		Comments: Comments{Block: slashes.Block}, Inner: Comments{Line: slashes.Line}, Strings: []String{double, single}, Addresses: true, Exact: true,
	}
	styles = &Syntax{Comments: slashes, Strings: []String{double, single}, Addresses: true}
	bourne = &Syntax{
		Comments: hash, Strings: []String{{Open: `"`, Close: `"`, Escapes: true, Lines: true}, {Open: "'", Close: "'", Lines: true}},
		HereDocs: true, Spaced: true, Alien: []string{"$'"}, Exact: true,
	}
	tomlText = &Syntax{Comments: hash, Strings: []String{triple, {Open: "'''", Close: "'''", Lines: true}, double, literal}, Exact: true}
	yamlText = &Syntax{Comments: hash, Strings: []String{double, literal}, Scalars: true, Spaced: true, Exact: true}
	markup   = &Syntax{Comments: angle, Inner: slashes, Addresses: true}
	markdown = &Syntax{Comments: angle}
	// The lexer reads no strings in these, or not all of them: what is quoted in them may be more, or less, than it
	// seems.
	slashed     = &Syntax{Comments: slashes, Strings: []String{triple, double}, Char: true}
	braced      = &Syntax{Comments: slashes, Strings: []String{double, single}}
	hashed      = &Syntax{Comments: hash}
	quoted      = &Syntax{Comments: hash, Strings: []String{double, single}}
	rubylike    = &Syntax{Comments: Comments{Line: hash.Line, Block: [][2]string{{"=begin", "\n=end"}}}, Strings: []String{double, single}, RegexAfter: rubyWords}
	php         = &Syntax{Comments: Comments{Line: []string{"//", "#"}, Block: slashes.Block}, Strings: []String{double, single}}
	dashed      = &Syntax{Comments: dashes}
	haskell     = &Syntax{Comments: Comments{Line: dashes.Line, Block: [][2]string{{"{-", "-}"}}}, Strings: []String{double}}
	ocaml       = &Syntax{Comments: Comments{Block: [][2]string{{"(*", "*)"}}}, Strings: []String{double}}
	fsharp      = &Syntax{Comments: Comments{Line: slashes.Line, Block: [][2]string{{"(*", "*)"}}}, Strings: []String{triple, double}}
	lua         = &Syntax{Comments: Comments{Line: dashes.Line, Block: [][2]string{{"--[[", "]]"}}}, Strings: []String{double, single}}
	percent     = &Syntax{Comments: Comments{Line: []string{"%"}}}
	semicolon   = &Syntax{Comments: Comments{Line: []string{";"}}, Strings: []String{double}}
	exclamation = &Syntax{Comments: Comments{Line: []string{"!"}}, Strings: []String{double, single}}
)

// A Line is one line of a text, split into code and comments.
type Line struct {
	// The line as it stands.
	Raw string
	// The line without comments, and with an empty string for each literal.
	Code string
	// Its comments, each with the mark that opens it. The lines of a longer comment after the first have no mark,
	// unless nothing preceded them.
	Notes []string
	// The line begins within a string.
	Inside bool
}

// Values say how to read an unquoted value.
type Values int

// The kinds of values, for code that looks for credentials.
const (
	Unknown Values = iota // as in a log or prose: only what can be nothing else is a value
	Data                  // what follows a name is its value
	Code                  // what follows a name is an expression
)
