package workspace

import (
	"slices"
	"testing"
)

func TestSecretsAreKnownByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".env":                   true,
		"deep/down/.env":         true,
		".ENV":                   true,
		".env.production":        true,
		".env.example.local":     true,
		".env.example":           false,
		".env.sample":            false,
		".env.template":          false,
		"x/.env.dist":            false,
		"env":                    false,
		".envrc":                 false,
		".environment":           false,
		"dotenv.py":              false,
		".netrc":                 true,
		"_netrc":                 true,
		".pypirc":                true,
		".pgpass":                true,
		".git-credentials":       true,
		".htpasswd":              true,
		"id_rsa":                 true,
		"keys/ID_RSA":            true,
		"id_dsa":                 true,
		"id_ecdsa":               true,
		"id_ed25519":             true,
		"id_ed25519_sk":          true,
		"id_rsa.pub":             false,
		"paid_rsa":               false,
		"store.p12":              true,
		"store.PFX":              true,
		"debug.keystore":         true,
		"a.jks":                  true,
		"keystore.py":            false,
		".ssh/config":            true,
		"home/.ssh/known_hosts":  true,
		".aws/credentials":       true,
		".gnupg/pubring.kbx":     true,
		".kube/config":           true,
		".docker/config.json":    true,
		"x/.docker/config.json":  true,
		".docker/Dockerfile":     false,
		"config.json":            false,
		"docker/config.json":     false,
		"ssh/config":             false,
		"src/aws/credentials.py": false,
	} {
		if got := isSecret(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSecretsAreKnownByContent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content string
		may, holds    bool
	}{
		{"server.pem", "-----BEGIN PRIVATE KEY-----", true, true},
		{"server.pem", "-----BEGIN CERTIFICATE-----", true, false},
		{"SERVER.PEM", "-----BEGIN RSA PRIVATE KEY-----", true, true},
		{"tls.key", "-----BEGIN OPENSSH PRIVATE KEY-----", true, true},
		{"tls.key", "", true, false},
		{".npmrc", "//r.example.com/:_authToken=abc", true, true},
		{".npmrc", "_auth=abc", true, true},
		{".npmrc", "//r.example.com/:_password=abc", true, true},
		{".npmrc", "engine-strict=true", true, false},
		{"key.py", "-----BEGIN PRIVATE KEY-----", false, false},
	} {
		if got := maySecret(test.name); got != test.may {
			t.Errorf("%s may hold one: %v", test.name, got)
		}
		if got := test.may && holdsSecret(test.name, []byte(test.content)); got != test.holds {
			t.Errorf("%s with %q: %v", test.name, test.content, got)
		}
	}
}

func TestWhatIsLeftOutByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		dir  bool
		want bool
	}{
		{".git", true, true},
		{".git", false, true},
		{"a/b/.git", true, true},
		{".github", true, false},
		{".gitignore", false, false},
		{".agent", true, true},
		{".agent", false, true},
		{"sub/.agent", true, false},
		{".hg", true, true},
		{"a/.jj", true, true},
		{"_darcs", true, true},
		{".fslckout", false, true},
		{".hgignore", false, false},
		{"hg", true, false},
		{"node_modules", true, true},
		{"node_modules", false, false},
		{"web/node_modules", true, true},
		{"__pycache__", true, true},
		{".cache", true, true},
		{".cache", false, false},
		{".vscode", true, true},
		{"build", true, false},
		{"dist", true, false},
		{"target", true, false},
		{"vendor", true, false},
		{"code", true, false},
		{"x.pyc", false, true},
		{"x.pyc", true, false},
		{".DS_Store", false, true},
		{"a/.main.py.swp", false, true},
		{".#main.py", false, true},
		{".agent-slot-run-7", false, true},
		{"main.py", false, false},
	} {
		if got := leftOut(test.name, test.dir) != ""; got != test.want {
			t.Errorf("%s, directory %v: %v", test.name, test.dir, got)
		}
	}
}

// A name in two rules would be judged by whichever rule comes first.
func TestNoRuleNamesTheSamePlaceTwice(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{leftDirs, leftFiles, secretDirs, secretFiles, secretEnds, deviceNames} {
		sorted := slices.Sorted(slices.Values(list))
		if compact := slices.Compact(sorted); len(compact) != len(list) {
			t.Errorf("a name is listed twice in %q", list)
		}
	}
}
