package credential

import "testing"

// Masking a password that is an ordinary word would remove it from every other line.
func TestOrdinaryWordsAreNoSecretsOfOutput(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]bool{
		"postgres": true, "password": true, "Password1": false, "PASSWORD": true, "postgres123": true, "changeme!": true, "": true,
		"correcthorsebattery": false, "hunter2hunter2": false, "q7rk2vxm": false, "pg-sesame-1": false, "12345678": false,
	} {
		if got := Ordinary(secret); got != want {
			t.Errorf("%q: %v, want %v", secret, got, want)
		}
	}
}

func TestThePasswordOfAnAddressIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "h": "", "http://h:80/x": "", "http://me:p@h": "p", "me:p@h:80": "p", "http://tok@h": "tok", "tok@h": "tok", "http://me:@h": "",
		"http://me:p%40q@h": "p@q", "http://:p@h": "p", "direct": "", "off": "", "http://h/a@b": "",
		// Programs accept these characters unescaped, but the URL parser does not.
		"http://me:p%q@h": "p%q", "me:p%@h": "p%", "http://me:p/@x#y@h:80": "p/@x#y", "http://to%k@h": "to%k", "http://h/%zz": "", "%zz": "", "http://[::1": "",
	} {
		if got := PasswordOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
