package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/verify/node/npmscript"
)

// A script is read as a shell would read it, as far as it means the same everywhere.
func TestScriptsAreReadAndNeverRun(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"mocha":                                      "[] []",
		"mocha 'a b' \"c\" d\\ e":                    `[] [a b c d e]`,
		"mocha $MORE \"$Z\" ok":                      "[] [ok]",
		"mocha $(rm x) ok":                           "",
		"mocha `rm y` ok":                            "",
		"xo && mocha $(rm x); mocha ok":              "[] [ok]",
		"mocha in | tap-spec":                        "[] [in]",
		"mocha in || exit 1":                         "[] [in]",
		"(cd web; mocha in)":                         "",
		"if true; then mocha then; fi":               "[] [then]",
		"mocha first && mocha second":                "[] [first], [] [second]",
		"exit 1; npx --yes mocha late":               "[] [late]",
		"pnpm exec mocha":                            "[] []",
		"yarn mocha a":                               "[] [a]",
		"npm exec -- mocha a":                        "[] [a]",
		"node -r ./mocha.js a.js":                    "",
		"node test/mocha.js a.js":                    "",
		"node -r ./aid.js node_modules/.bin/mocha x": "[-r ./aid.js] [x]",
		"node --import tsx -- mocha":                 "[--import tsx] []",
		"node bin/run.js mocha a":                    "[] [a] by bin/run.js",
		"node ./run.mjs cross-env A=1 mocha a --b":   "[] [a --b] by ./run.mjs",
		"node bin/run.js mocha":                      "",
		"node -r ./a.js bin/run.js mocha a":          "",
		"npm run mocha":                              "",
		"echo mocha":                                 "",
		"mochawesome":                                "",
		"mocha-parallel":                             "",
		"":                                           "",
		"mocha )":                                    "",
		"mocha & sleep 1":                            "",
		"nyc report --reporter text mocha":           "",
		"nyc --reporter text mocha":                  "[] []",
		"nyc --reporter=text mocha --timeout=":       "[] [--timeout=]",
		"concurrently \"eslint .\" 'mocha a'":        "[] [a]",
	} {
		var got []string
		for _, s := range npmscript.Read(map[string]string{"test": script}, "test") {
			if s.Kind == npmscript.Runs && s.Tool == "mocha" {
				use := stepUse(s)
				text := fmt.Sprint(use.options, " ", use.args)
				if use.through != "" {
					text += " by " + use.through
				}
				got = append(got, text)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}

func TestOptionsAreLeftOutWithTheirValues(t *testing.T) {
	t.Parallel()
	takes := map[string]bool{"--to": true, "--flag": false}
	for args, want := range map[string]string{
		"--to x a":         "a",
		"--to=x a":         "a",
		"--to --flag a":    "a",
		"a --to":           "a",
		"--flag a":         "a",
		"--flag=1 --other": "--other",
		"--too x":          "--too x",
	} {
		if got := without(strings.Fields(args), takes); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
