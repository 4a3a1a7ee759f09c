package selfbuild

// A probe is one case of the battery: a patch for the small workspace below, and how the agent must judge it. The journal stores names
// with their verdicts: a renamed case is a new one, unrelated to the verdicts of older images.
type probe struct {
	name, patch string
	// want is the exit code and the verdict, in the form of judge: "1 fail".
	want string
	// env is added to the agent's environment.
	env []string
}

// bench is the workspace that every case starts from. It needs neither a dependency nor a lock file, so that an unavailable registry
// changes no verdict.
var bench = map[string]string{
	"price.py": `"""Prices."""


def gross(net: int, percent: int) -> int:
    """Return the price with tax, in cents."""
    return net + net * percent // 100


if __name__ == "__main__":
    print(gross(100, 20))
`,
	"test_price.py": `"""Tests of prices."""

from price import gross


def test_gross() -> None:
    """Twenty percent of a hundred."""
    assert gross(100, 20) == 120
`,
}

// swapped returns a patch that replaces one line of price.py.
func swapped(old, with string) string {
	return "<EDIT file=\"price.py\"><SEARCH>\n" + old + "\n</SEARCH><REPLACE>\n" + with + "\n</REPLACE></EDIT>\n"
}

// sum is the line that most cases replace.
const sum = "    return net + net * percent // 100"

// battery is what every image of the agent must judge alike. It is written here, among what is protected, so that no change can soften
// it together with the gate.
var battery = []probe{
	{"a good patch passes", swapped(sum, "    return net + (net * percent) // 100"), "0 pass", nil},
	{"syntax", swapped(sum, "    return net + ("), "1 fail", nil},
	{"lint", swapped(`"""Prices."""`, "\"\"\"Prices.\"\"\"\n\nimport os"), "1 fail", nil},
	{"types", swapped(sum, "    return str(net + net * percent // 100)"), "1 fail", nil},
	{"a test fails", swapped(sum, "    return net + net * percent // 10"), "1 fail", nil},
	// The time limit is for one gate: long enough for the other gates, and short for a canary.
	{"a test never ends", swapped(sum, "    while net:\n        pass\n    return net"), "1 timeout", []string{"AGENT_TIMEOUT=10s"}},
	// --yes is given, and these two must not pass even so: one lacks an approval of its own, and no approval allows the other.
	{"a change of CI is held", "<CREATE_FILE file=\".github/workflows/ci.yml\">\non: push\njobs: {}\n</CREATE_FILE>\n", "4 policy", nil},
	{"a path leads out", "<CREATE_FILE file=\"../../etc/cron.d/job\">\n* * * * * root true\n</CREATE_FILE>\n", "4 policy", nil},
	{"no place matches", swapped("    return gross", "    return net"), "1 fail", nil},
}

// expected returns the verdicts that are written down.
func expected() map[string]string {
	want := map[string]string{}
	for _, c := range battery {
		want[c.name] = c.want
	}
	return want
}
