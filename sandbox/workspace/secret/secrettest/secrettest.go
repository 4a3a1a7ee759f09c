// Package secrettest holds lines with and without credentials, for the tests of packages that judge or hide them. None
// of the credentials was ever in use.
package secrettest

import "strings"

// Drawn is a text that looks random; the test credentials are put together from it, so that no scanner of this file
// finds one.
const Drawn = "q7Rk2vXm9TbL4wZp8NcY3hJd6FsG1aVeU5oQiKx0"

// Credentials are lines that contain one, each with the rule that must name it.
var Credentials = []struct{ Rule, Line string }{
	{"private key", "-----BEGIN " + "RSA PRIVATE KEY-----"},
	{"private key", "key = \"-----BEGIN " + "PRIVATE KEY-----\\nMIIB\""},
	{"AWS", "aws_id = " + "AKIA" + "Q7RK2VXM5TBL4WZP"},
	{"GitHub", "t: gh" + "p_" + Drawn[:36]},
	{"GitHub", "github" + "_pat_" + Drawn + Drawn[:20]},
	{"GitLab", "x = 'glp" + "at-" + Drawn[:20] + "'"},
	{"Slack", "xo" + "xb-1234-" + Drawn},
	{"Google", "AI" + "za" + Drawn[:35]},
	{"API key", "OPENAI = 's" + "k-" + Drawn + "'"},
	{"API key", "k = \"s" + "k-ant-api03-" + Drawn + "\""},
	{"API key", "s" + "k_live_" + Drawn[:24]},
	{"npm", "//registry/:_authToken=np" + "m_" + Drawn[:36]},
	{"PyPI", "py" + "pi-" + Drawn + Drawn},
	{"JWT", "a = ey" + "JhbGciOiJIUzI1.ey" + "JzdWIiOiIxMjM0." + Drawn},
	{"Slack webhook", "curl https://hooks.slack" + ".com/services/T0AB12CD3/B0EF45GH6/" + Drawn[:24]},
	{"Discord webhook", "https://discord" + ".com/api/webhooks/123456789012345678/" + Drawn + Drawn[:28]},
	{"Azure", "Account" + "Key=" + Drawn + Drawn + Drawn[:6] + "==;EndpointSuffix=core.windows.net"},
	{"Telegram", "bot = '123456789" + ":AA" + Drawn[:33] + "'"},
	{"access token", "S" + "G." + Drawn[:22] + "." + Drawn + Drawn[:3]},
	{"access token", "hf" + "_" + Drawn[:34]},
	{"access token", "dckr" + "_pat_" + Drawn[:27]},
	{"access token", "hv" + "s." + Drawn},
	{"access token", "key = GOC" + "SPX-" + Drawn[:28]},
	{"access token", "glr" + "t-" + Drawn[:20]},
	{"Telegram", "curl https://api.telegram" + ".org/bot123456789" + ":AA" + Drawn[:33] + "/getMe"},
	{"Azure", "https://x.blob.core.windows.net/a?sv=2022-11-02&ss=b&s" + "ig=" + Drawn + "bQ4%3D"},
	{"access token", "tv" + "ly-" + Drawn[:32]},
	{"access token", "ls" + "v2_pt_6f7eaed46725a2a7b860dcd6c8a1f8b4_6287cced90"},
	{"access token", "fi" + "gd_" + Drawn},
	{"access token", "fo" + "1_" + Drawn + "abc"},
	{"access token", "snt" + "rys_" + Drawn + Drawn[:20]},
	{"access token", "ts" + "key-auth-" + Drawn[:12] + "-" + Drawn[8:40]},
	{"access token", "op" + "s_eyJ" + Drawn + Drawn},
	{"access token", "sq" + "0csp-" + Drawn + "abc"},
	{"access token", "pa" + "t" + Drawn[:14] + ".499d863386ce10cd79e048c07dd7753eda83d7c58dfe0d5a0cf318656b3e6f0b"},
	{"access token", "AGE-SE" + "CRET-KEY-1RUMXZLIMLSELKYCOHFTXBJQIJUSVKXAXBHEJTUNNQLBEPHTUBABASLJDQL"},
	{"address", "url = postgres://app:" + Drawn[:12] + "@db.internal/app"},
	{"literal", "password = \"" + Drawn[:16] + "\""},
	{"literal", "  \"api_key\": '" + Drawn[:24] + "',"},
	{"literal", "const clientSecret = '" + Drawn[:20] + "';"},
	{"literal", "DB_PASSWORD := \"" + Drawn[:14] + "!\""},
}

// Harmless lines mention secrets but contain none.
var Harmless = []string{
	"password = os.environ[\"DB_PASSWORD\"]",
	"password = \"\"",
	"password: str = \"changeme-please-1\"",
	"token = get_token(\"service-account\", scope)",
	"api_key = \"YOUR-API-KEY-GOES-HERE-0\"",
	"secret = \"{{ vault.secret }}\"",
	"secret_name = \"projects/app/keys/main\"",
	"\"password\": \"Das Passwort ist falsch\",",
	"token_url = \"https://login.company.org/oauth2/v2.0/authorize\"",
	"key = \"user.settings.password.label\"",
	"token = \"aaaaaaaaaaaa1111\"",
	"postgres://user:password@localhost/db",
	"https://user:${TOKEN}@host/x",
	"AKIA" + "IOSFODNN7EXAMPLE",
	"gh" + "p_" + strings.Repeat("x", 36),
	"sha256 = \"" + Drawn + "\"",
	"-----BEGIN CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----",
	"task-sk-learn-model-selection-with-cross-validation",
	"s" + "k-" + strings.Repeat("a", 40),
}
