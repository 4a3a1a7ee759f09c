package policy

import (
	"strconv"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// The strengths of assertions: how much each one asks. The strength of an unknown form is uncertain: it counts as
// being as strong as whatever it replaces.
const (
	asksNothing = 0  // it compares a thing with itself
	asksTruth   = 10 // that something is there, or differs
	asksType    = 20
	asksPart    = 30 // a part, an order, one of several
	asksSize    = 40
	asksKind    = 45 // an error of a kind, a number of calls
	asksValue   = 50
	asksUnknown = 60
)

// A strengthRule gives the strength of an assertion whose text matches its form. A rule whose level is asksInner
// passes on the expression in its group instead.
type strengthRule struct {
	form  *lazyregexp.Regexp
	level int
}

// rules returns the rules for pairs of a form and a strength; the first that matches applies.
func rules(pairs ...any) (list []strengthRule) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, strengthRule{lazyregexp.New(pairs[i].(string)), pairs[i+1].(int)})
	}
	return list
}

// asksInner marks a rule that passes on an expression.
const asksInner = -1

// A strengthForm describes how a language asserts: first the calls and statements, then the expressions given to them.
type strengthForm struct {
	calls, values []strengthRule
	and, or       string
}

// strengthForms lists the known forms.
var strengthForms = map[lang.Family]strengthForm{
	lang.Python: {and: " and ", or: " or ", values: rules(
		`^lambda\b`, asksNothing, `\sif\s.*\selse\s`, asksPart, `^not\b`, asksTruth, `^type\(.*\)\s*(?:==|is)`, asksType,
		`==\s*(?:mock\.)?ANY$|^ANY\s*==`, asksTruth, `==\s*(?:True|False)$|\bis (?:True|False)$|^(?:True|False)\s*(?:==|is)`, asksTruth,
		`\bis not\b|!=`, asksTruth, `\bnot in\b`, asksTruth,
		`^len\(.*\)\s*==|\.count\(.*\)\s*==|==\s*len\(`, asksSize, `==|\bis\b`, asksValue,
		`\bin\b|<|>|\.(?:startswith|endswith|issubset|issuperset)\(|\bre\.\w+\(|^any\(|\.(?:search|match)\(`, asksPart,
		`^(?:isinstance|issubclass|hasattr|callable)\(|^type\(`, asksType,
		`(?i)(?:equal|same|close|match|identical|valid|check|compare|verify)\w*\(.*`, asksUnknown, `^all\(`, asksUnknown, `.`, asksTruth,
	), calls: rules(
		`(?:raises|assertRaises|assertWarns|warns)\(\s*(?:Base)?Exception\s*[,)]`, asksTruth,
		`(?:raises|warns)\(.*\bmatch\s*=|assert(?:Raises|Warns)Regex\(`, asksValue, `\b(?:raises|warns|assertRaises|assertWarns)\(`, asksValue,
		`^assert\s*(.*)$`, asksInner, `\.assertTrue\((.*)\)$`, asksInner,
		`\.assertEquals?\((?:.*,\s*(?:True|False|(?:mock\.)?ANY)|(?:True|False|(?:mock\.)?ANY)\s*,.*)\)$`, asksTruth,
		`\.assertEquals?\((?:len\(|[^,]*,\s*len\()`, asksSize, `\.assert(?:Equals?|Is)\(type\(`, asksType,
		`\.assert(?:False|IsNotNone|NotEquals?|IsNot|NotIn|NotIsInstance|NotRegex)\(`, asksTruth,
		`\.assert(?:Is|IsNone|Equals?|DictEqual|ListEqual|SetEqual|TupleEqual|SequenceEqual|MultiLineEqual|CountEqual|AlmostEqual)\(`, asksValue,
		`\.assertIsInstance\(`, asksType, `\.assert(?:In|Regex|Greater|GreaterEqual|Less|LessEqual|Contains)\(`, asksPart,
		`\.assert_(?:called_once_with|called_with|has_calls|any_call|awaited_once_with|awaited_with)\(`, asksValue,
		`\.assert_(?:called_once|not_called|awaited_once|not_awaited)\(`, asksKind, `\.assert_(?:called|awaited)\(`, asksTruth,
	)},
	lang.Script: {and: "&&", or: "||", values: rules(
		`\s\?\s.*\s:\s`, asksPart, `!==?[^=]`, asksTruth, `^!`, asksTruth, `^typeof\b|\binstanceof\b`, asksType, `\.(?:length|size)\s*===?`, asksSize,
		`===?\s*(?:true|false)$`, asksTruth, `===?`, asksValue, `[^=]>|<|\.(?:includes|startsWith|endsWith|test|match|some|has)\(`, asksPart,
		`(?i)(?:equal|same|close|match|identical|valid|check|compare|verify)\w*\(`, asksUnknown, `\.every\(`, asksUnknown, `.`, asksTruth,
	), calls: rules(
		`\.not\.(?:toThrow\w*|toHaveBeenCalled)\(`, asksKind, `\)\s*(?:\.(?:resolves|rejects))?\.not\.to|\.to\.(?:\w+\.)*not\.|\.not\.(?:be|equal|eql|exist|include|contain|deep)|\.should\.not\b`, asksTruth,
		`\.(?:toEqual|toBe|toStrictEqual|toBeCalledWith|toHaveBeenCalledWith)\(\s*expect\.(?:anything|any)\([^()]*\)\s*\)`, asksTruth,
		`\.(?:toEqual|toStrictEqual)\(\s*expect\.\w*[cC]ontaining\(`, asksPart,
		`expect\((.*)\)\.(?:toBe|toEqual|toStrictEqual)\(true\)`, asksInner, `expect\((.*)\)\.toBeTruthy\(\)`, asksInner, `expect\((.*)\)\.to\.be\.true`, asksInner,
		`\.(?:toBe|toEqual|toStrictEqual)\(false\)|\.be\.false`, asksTruth,
		`expect\(\s*typeof\b`, asksType, `expect\(.*\.(?:length|size)\)\.(?:toBe|toEqual|to\.equal)`, asksSize,
		`\.to(?:Be|Equal|StrictEqual|BeNull|BeUndefined|BeNaN|BeCloseTo|HaveBeenCalledWith|BeCalledWith|HaveBeenLastCalledWith|HaveBeenNthCalledWith|HaveReturnedWith|Match\w*Snapshot|ThrowErrorMatching\w*Snapshot)\(`, asksValue,
		`\.toThrow(?:Error)?\(\s*\)`, asksTruth, `\.toThrow(?:Error)?\(|\.toHaveBeenCalledTimes\(|\.toHaveBeenCalledOnce\(|\.toHaveReturnedTimes\(`, asksKind,
		`\.to(?:HaveBeenCalled|BeCalled|BeTruthy|BeFalsy|BeDefined|HaveReturned|BeInTheDocument)\(`, asksTruth, `\.toHaveLength\(`, asksSize,
		`\.toBe(?:InstanceOf|TypeOf)\(`, asksType, `\.to(?:MatchObject|Contain|ContainEqual|Match|HaveProperty|BeGreater\w*|BeLess\w*|BeOneOf)\(`, asksPart,
		`\.(?:to|should)\.(?:\w+\.)*(?:equal|equals|eq|eql|eqls)\(|\.be\.(?:null|undefined|NaN|empty)`, asksValue, `\.(?:lengthOf|length)\(`, asksSize,
		`\.(?:to|should)\.(?:\w+\.)*(?:instanceof|instanceOf|a|an)\(`, asksType,
		`\.(?:to|should)\.(?:\w+\.)*(?:includes?|contains?|match|above|below|least|most|within|oneOf|property|keys?|members|string)\b`, asksPart,
		`\.(?:to|should)\.(?:\w+\.)*(?:exist|ok)\b`, asksTruth,
		`\bassert\.(?:strictEqual|deepStrictEqual|equal|deepEqual|isNull|isUndefined|isNaN|isEmpty|sameMembers|sameDeepMembers)\(`, asksValue,
		`\bassert\.(?:throws|rejects)\([^,]*$`, asksTruth, `\bassert\.(?:throws|rejects|doesNotThrow|doesNotReject)\(`, asksKind, `\bassert\.lengthOf\(`, asksSize,
		`\bassert\.(?:exists|isDefined|isNotNull|isNotOk|isFalse|not\w+)\(`, asksTruth, `\bassert\.(?:match|include\w*|isAbove|isBelow|isAtLeast|isAtMost|oneOf|property)\(`, asksPart,
		`\bassert\.(?:instanceOf|typeOf|is(?:String|Number|Array|Object|Function))\(`, asksType, `\bassert(?:\.(?:ok|isOk|isTrue))?\((.*)\)`, asksInner,
	)},
	lang.Go: {and: "&&", or: "||", values: rules(
		`^!?(?:reflect\.DeepEqual|cmp\.Equal|slices\.Equal\w*|maps\.Equal\w*|bytes\.Equal|errors\.Is)\(|^!?[\w.()]+\.Equal\(`, asksValue,
		`!=\s*(?:nil|"")$`, asksTruth, `!=`, asksTruth, `^len\(.*\)\s*==`, asksSize, `==`, asksValue, `^!`, asksTruth, `<|>|\b(?:Contains|HasPrefix|HasSuffix|MatchString|Match)\(`, asksPart,
		`(?i)(?:equal|same|close|match|identical|valid|check|compare|verify)\w*\(`, asksUnknown, `.`, asksTruth,
	), calls: rules(
		`\b(?:assert|require)\.Equalf?\(\s*t\s*,\s*(?:len\(|[^,]*,\s*len\()`, asksSize,
		`\b(?:assert|require)\.(?:Equal|EqualValues|Exactly|ElementsMatch|JSONEq|YAMLEq|Nil|NoError|Empty|Zero|ErrorIs|EqualError|Same|InDelta|InEpsilon|WithinDuration|PanicsWith\w*)f?\(`, asksValue,
		`\b(?:assert|require)\.(?:ErrorAs|ErrorContains)f?\(`, asksKind, `\b(?:assert|require)\.Lenf?\(`, asksSize,
		`\b(?:assert|require)\.(?:Contains|Greater\w*|Less\w*|Regexp|Subset|Positive|Negative)f?\(`, asksPart, `\b(?:assert|require)\.(?:IsType|Implements)f?\(`, asksType,
		`\b(?:assert|require)\.(?:NotNil|NotEmpty|NotEqual\w*|NotZero|Error|Panics|NotContains|False)f?\(`, asksTruth, `\b(?:assert|require)\.Truef?\(\s*t\s*,\s*(.*)\)`, asksInner,
	)},
}

// goFails lists the strengths of the condition under which a Go test fails.
var goFails = rules(
	`^!(?:reflect\.DeepEqual|cmp\.Equal|slices\.Equal\w*|maps\.Equal\w*|bytes\.Equal|errors\.Is)\(|^![\w.()]+\.Equal\(|^!strings\.EqualFold\(`, asksValue, `^!errors\.As\(`, asksKind,
	`^len\(.*\)\s*!=`, asksSize, `!=\s*(?:true|false)$`, asksTruth, `!=`, asksValue, `==`, asksTruth, `<|>|\b(?:Contains|HasPrefix|HasSuffix|MatchString|Match)\(`, asksPart,
	`(?i)(?:equal|same|close|match|identical|valid|check|compare|verify)\w*\(`, asksUnknown, `.`, asksTruth,
)

// strict lists pairs of calls of which the first asks more than the second, all else being equal.
var strict = [][2]*lazyregexp.Regexp{
	{lazyregexp.New(`\.toStrictEqual\(`), lazyregexp.New(`\.toEqual\(`)},
	{lazyregexp.New(`\bassert\.deepStrictEqual\(`), lazyregexp.New(`\bassert\.deepEqual\(`)},
	{lazyregexp.New(`\bassert\.strictEqual\(`), lazyregexp.New(`\bassert\.equal\(`)},
	{lazyregexp.New(`\bmatch\s*=`), lazyregexp.New(`\braises\([^=]*$`)},
	{lazyregexp.New(`\.toThrow(?:Error)?\(\s*[^)\s]`), lazyregexp.New(`\.toThrow(?:Error)?\(\s*\)`)},
}

// A clause is one of the parts of an assertion that must all hold.
type clause struct {
	// The text without space, for comparison.
	text string
	// The text as written, with its literals.
	raw   string
	level int
	words []string
	// How far a number may be off.
	slack float64
	// Whether it compares with a value that counts as false.
	falsy bool
	line  int
}

var (
	comparison  = lazyregexp.New(`\s*(?:===?|!==?)\s*|\s+is\s+`)
	spaces      = lazyregexp.New(`\s+`)
	emptyNeedle = lazyregexp.New(`\bassert\s+(?:""|'')\s+in\b|\b(?:startswith|endswith|startsWith|endsWith|includes|toContain|toMatch|HasPrefix|HasSuffix|Contains)\((?:[^"'()]*,\s*)?(?:""|'')\s*\)`)
	falsyValue  = lazyregexp.New(`===?\s*(?:""|''|0|\[\]|\{\}|\(\)|set\(\)|dict\(\)|list\(\)|None|False|false|null|undefined)\s*\)?$|\.assertEquals?\(.*,\s*(?:""|''|0|\[\]|\{\}|\(\)|None|False)\)$|\.(?:toBe|toEqual|toStrictEqual)\((?:""|''|0|false|null|undefined)\)|\.assertIsNone\(|\bis (?:None|False)$|^len\(.*== 0$`)
	tolerance   = lazyregexp.New(`\b(?:abs|rel|delta|atol|rtol|abs_tol|rel_tol)\s*=\s*([\d.eE+-]+)|\b(?:InDelta|InEpsilon)f?\(.*,\s*([\d.eE+-]+)\s*[,)]`)
	decimals    = lazyregexp.New(`\bplaces\s*=\s*(-?\d+)|\btoBeCloseTo\(.*,\s*(-?\d+)\s*\)`)
)

// usualSlack is how far a number may be off without raising a question: as much as computing with fractions needs.
const usualSlack = 0.01

// slackOf returns how far the numbers of an assertion may be off.
func slackOf(text string) (slack float64) {
	for _, m := range tolerance.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseFloat(strings.Trim(m[1]+m[2], "+"), 64); err == nil {
			slack = max(slack, n)
		}
	}
	for _, m := range decimals.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1] + m[2]); err == nil && n <= 0 {
			slack = max(slack, 1)
		}
	}
	return slack
}

// clausesIn splits an assertion into its clauses. text is the whole assertion on one line.
func clausesIn(family lang.Family, text, raw string, line int) (list []clause) {
	form := strengthForms[family]
	text = strings.TrimSuffix(strings.TrimSpace(spaces.ReplaceAllString(text, " ")), ";")
	raw = strings.TrimSuffix(strings.TrimSpace(spaces.ReplaceAllString(raw, " ")), ";")
	made := func(part string, level int) clause {
		if emptyNeedle.MatchString(raw) && level == asksPart {
			level = asksNothing
		}
		return clause{squeeze(part), raw, level, wordsOf(part), slackOf(text), falsyValue.MatchString(strings.TrimRight(raw, " )")) || falsyValue.MatchString(raw), line}
	}
	if cond, ok := strings.CutPrefix(text, goCondition); ok {
		for _, part := range topLevel(cond, "||") {
			list = append(list, made("if "+part, levelOf(part, "&&", goFails)))
		}
		return list
	}
	for _, rule := range form.calls {
		m := rule.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if rule.level != asksInner {
			level := rule.level
			if sameArguments(text) {
				level = asksNothing
			}
			return []clause{made(text, level)}
		}
		value := topLevel(m[1], ",")[0]
		for _, part := range topLevel(bare(value), form.and) {
			list = append(list, made(part, levelOf(part, form.or, form.values)))
		}
		return list
	}
	return []clause{made(text, asksUnknown)}
}

// levelOf returns the strength of an expression. If any one of several parts suffices, the expression asks for a part at most.
func levelOf(text, or string, forms []strengthRule) int {
	text = bare(strings.TrimSpace(text))
	if parts := topLevel(text, or); len(parts) > 1 {
		level := asksPart
		for _, part := range parts {
			level = min(level, levelOf(part, or, forms))
		}
		return level
	}
	if sides := comparison.Split(text, -1); len(sides) == 2 && sides[0] == sides[1] && !strings.Contains(text, `""`) && strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
		return asksNothing
	}
	// Text inside brackets belongs to the operands.
	outer := shallow(text)
	for _, rule := range forms {
		if rule.form.MatchString(outer) {
			return rule.level
		}
	}
	return asksUnknown
}

// sameArguments reports whether a call compares a thing with itself.
func sameArguments(text string) bool {
	if strings.Contains(text, `""`) {
		return false
	}
	if m := expectSame.FindStringSubmatch(text); m != nil {
		return m[1] == m[2] && m[1] != ""
	}
	m := callArguments.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	args := topLevel(m[1], ",")
	if len(args) > 2 && strings.TrimSpace(args[0]) == "t" {
		args = args[1:]
	}
	return len(args) == 2 && squeeze(args[0]) == squeeze(args[1]) && anyWord.MatchString(args[0])
}

var (
	expectSame    = lazyregexp.New(`^(?:await )?expect\(([\w.()\[\]]+)\)\.(?:toBe|toEqual|toStrictEqual)\(([\w.()\[\]]+)\)$`)
	callArguments = lazyregexp.New(`[eE]qual\w*\((.*)\)$`)
)

// squeeze removes from a text what formatters add.
func squeeze(text string) string {
	text = strings.ReplaceAll(bare(strings.TrimSpace(text)), " ", "")
	return strings.NewReplacer(",)", ")", ",]", "]", ",}", "}").Replace(text)
}

// bare removes the parentheses that enclose a whole text.
func bare(text string) string {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") && len(topLevel(text[1:len(text)-1], ",")) == 1 {
		depth := 0
		for i := range len(text) - 1 {
			if depth += strings.Count(text[i:i+1], "(") - strings.Count(text[i:i+1], ")"); depth == 0 {
				return text
			}
		}
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	return text
}

// shallow returns a text without the contents of its brackets; the outermost brackets stay.
func shallow(text string) string {
	var out strings.Builder
	depth := 0
	for _, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			if depth == 0 {
				out.WriteRune(c)
			}
			depth++
		case strings.ContainsRune(")]}", c):
			if depth--; depth == 0 {
				out.WriteRune(c)
			}
		case depth <= 0:
			out.WriteRune(c)
		}
	}
	return out.String()
}

// topLevel splits a text at each mark that is not inside brackets.
func topLevel(text, mark string) (parts []string) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && strings.HasPrefix(text[i:], mark) {
			parts, from = append(parts, strings.TrimSpace(text[from:i])), i+len(mark)
			i = from - 1
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// goCondition begins the text of a Go assertion that consists of a condition and a call.
const goCondition = "if "
