package directive

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// styles matches, by family, the codes that are about how a program reads: its names, length, order, spaces and comments. Hiding one
// hides no fault. Of ruff and flake8 these are the letters of rules on form: pycodestyle's except E72, E9 and W6, naming, docstrings,
// annotations, imports, private names, and which of two equal forms to write (docs.astral.sh/ruff/rules). If a letter also has faults
// (B, F, S, PLE, PLW, RUF), the gate measures what the tool reports without the comment. For Go these are the linters that
// golangci-lint documents as style, format or complexity; go vet and staticcheck, which do not read the comment, also find any faults
// among their findings. Of pylint these are the conventions and refactorings (C and R in its list of messages). Of ESLint, whose rules
// oxlint has under the same names, these are the rules on layout, and of the suggestions those on names, size, order and which of two
// equal forms to write (eslint.org/docs/latest/rules). no-console is about where text goes, and no-await-in-loop about time. Of plugins
// these are the rules on layout, comments and order. Of clippy's groups style and complexity these are the rules that are often hidden.
var styles = map[string]*lazyregexp.Regexp{
	"noqa": lazyregexp.New(`^(?:a00\d|ann\d+|c4\d\d|c90\d|c81\d|com\d+|cpy\d+|d[1-4]\d\d|e[1-5]\d\d|e70\d|e71[1-4]|e731|e741|em\d+|era\d+|fa\d+|fbt\d+|fix\d+|fly\d+|g\d{3}|i00\d|icn\d+|` +
		`inp\d+|isc\d+|n8\d\d|pie\d+|plc\d+|plr\d+|pth\d+|q\d+|ret\d+|sim\d+|slf\d+|slot\d+|t20\d|tch?\d+|td\d+|tid\d+|try003|up\d+|w[1-5]\d\d)$`),
	"allow": lazyregexp.New(`^(?:clippy::(?:too_many_(?:arguments|lines)|type_complexity|cognitive_complexity|module_inception|module_name_repetitions|new_without_default|needless_[a-z_]+|` +
		`redundant_[a-z_]+|collapsible_[a-z_]+|large_enum_variant|upper_case_acronyms|enum_variant_names|wrong_self_convention|len_without_is_empty|must_use_candidate)|` +
		`missing_docs|non_(?:camel_case_types|snake_case|upper_case_globals))$`),
	"nolint": lazyregexp.New(`^(?:asciicheck|containedctx|cyclop|decorder|dogsled|dupl|dupword|err113|errname|exhaustruct|funcorder|funlen|gci|gochecknoglobals|gochecknoinits|` +
		`gocognit|goconst|gocyclo|godot|godox|goerr113|gofmt|gofumpt|goheader|goimports|golines|golint|gomnd|grouper|importas|inamedparam|interfacebloat|intrange|ireturn|` +
		`lll|maintidx|misspell|mnd|nakedret|nestif|nlreturn|nolintlint|nonamedreturns|paralleltest|perfsprint|prealloc|revive|stylecheck|tagalign|tagliatelle|testpackage|` +
		`thelper|unconvert|usestdlibvars|usetesting|varnamelen|whitespace|wrapcheck|wsl|wsl_v5)$`),
	"pylint": lazyregexp.New(`^(?:[cr]\d{4}|too-(?:many|few)-[a-z-]+|missing-(?:module-|class-|function-)?docstring|invalid-name|line-too-long|disallowed-name|consider-(?:using|merging|iterating|swap)-[a-z-]+|` +
		`no-else-[a-z]+|duplicate-code|wrong-import-(?:order|position)|ungrouped-imports|import-outside-toplevel|no-self-use|superfluous-parens|trailing-(?:whitespace|newlines)|` +
		`unnecessary-(?:comprehension|lambda-assignment)|chained-comparison|simplifiable-[a-z-]+|useless-(?:return|object-inheritance))$`),
	"eslint": lazyregexp.New(`^(?:@typescript-eslint/(?:array-type|class-methods-use-this|consistent-(?:generic-constructors|indexed-object-style|type-(?:assertions|definitions|exports|imports))|` +
		`explicit-(?:function-return-type|member-accessibility|module-boundary-types)|max-params|member-ordering|naming-convention|no-(?:empty-(?:interface|object-type)|extraneous-class|inferrable-types|namespace)|` +
		`prefer-(?:for-of|function-type))|(?:@?stylistic|@stylistic/(?:js|ts|jsx|plus)|jsdoc|perfectionist|simple-import-sort|prettier)/[a-z/-]+|arrow-(?:body-style|parens|spacing)|` +
		`brace-style|camelcase|capitalized-comments|class-methods-use-this|comma-(?:dangle|spacing|style)|complexity|curly|dot-(?:location|notation)|eol-last|func-(?:names|style)|id-(?:denylist|length|match)|` +
		`import(?:-x)?/(?:first|newline-after-import|no-default-export|order|prefer-default-export)|indent|key-spacing|keyword-spacing|line-comment-position|lines-(?:around|between)-[a-z-]+|linebreak-style|logical-assignment-operators|` +
		`max-(?:classes-per-file|depth|len|lines|lines-per-function|nested-callbacks|params|statements|statements-per-line)|multiline-[a-z-]+|new-cap|newline-[a-z-]+|` +
		`no-(?:await-in-loop|console|continue|else-return|extra-(?:parens|semi)|inline-comments|lonely-if|magic-numbers|mixed-spaces-and-tabs|multi-spaces|multiple-empty-lines|negated-condition|` +
		`nested-ternary|plusplus|tabs|ternary|trailing-spaces|underscore-dangle|var|warning-comments)|object-(?:curly-[a-z-]+|shorthand)|one-var|operator-(?:assignment|linebreak)|` +
		`padded-blocks|prefer-(?:arrow-callback|const|destructuring|exponentiation-operator|numeric-literals|object-spread|rest-params|spread|template)|quote-props|quotes|semi|` +
		`semi-(?:spacing|style)|sort-(?:imports|keys|vars)|space-[a-z-]+|spaced-comment|vars-on-top|yoda|` +
		`unicorn/(?:better-regex|catch-error-name|consistent-[a-z-]+|explicit-length-check|filename-case|no-(?:array-(?:callback-reference|for-each|reduce)|await-expression-member|negated-condition|` +
		`nested-ternary|null|useless-undefined)|number-literal-case|numeric-separators-style|prefer-[a-z-]+|prevent-abbreviations|switch-case-braces))$`),
}

// OfStyle reports whether a suppression of a family hides only how a program reads, judging by its codes as In gives them.
func OfStyle(family, codes string) bool {
	form := styles[family]
	return form != nil && codes != "" && !slices.ContainsFunc(strings.Fields(codes), func(c string) bool { return !form.MatchString(c) })
}
