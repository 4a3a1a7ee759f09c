package secret

import (
	"strings"
	"testing"

	"agent/sandbox/workspace/secret/secrettest"

	"pgregory.net/rapid"
)

// quotedAs returns a text as a question quotes a file with that name.
func quotedAs(name, text string) string {
	const word = "0123456789abcdef0123456789abcdef"
	return "before\n<<" + word + " " + name + "\n" + text + "\n" + word + ">>\nafter\n"
}

// pw is a typical password of a person, weak and short.
const pw = "hunter2long"

// assigned lists lines with a secret, marked by @, by the name of the file that contains them.
var assigned = map[string][]string{
	"config.yaml": {
		"password: @", "  db_password: @", "password: @  # of the database", "db: {user: app, password: @}", "- POSTGRES_PASSWORD=@", "POSTGRES_PASSWORD: @",
		"password: \"@\"", "password: '@'", "- PASSWORD: @", "\"password\": @", "dbPassword: @", "client_secret: @", "api-key: @", "apiKey: @", "authToken: @", "spring.datasource.password: @",
		"    args: [\"--password=@\"]", "command: mysqld --password @", "      - name: DB_PASSWORD value: @", "url: postgres://app:@@db/app", "passphrase: @",
	},
	"app.ini":           {"password = @", "password=@", "password: @", "pwd=@", "db_pass = @", "[db]password=@", "smtp_password   =   @"},
	"db.properties":     {"db.password=@", "db.password = @", "spring.mail.password: @", "jdbc.url=jdbc:mysql://app:@@db/x"},
	".env.local":        {"TOKEN=@", "export TOKEN=@", "export TOKEN=\"@\"", "DB_PASS='@'", "SECRET_KEY=@", "AWS_SECRET_ACCESS_KEY=@"},
	"deploy.sh":         {"TOKEN=@ ./deploy", "export API_KEY=@; run", "curl -u admin:@ https://host", "curl --user 'admin:@' https://host", "curl -sS -X POST -u admin:@ https://host | jq", "curl -H \"Authorization: Bearer @\" x", "curl -H 'Authorization: Basic @' x", "curl -H \"X-Api-Key: @\" x", "sshpass -p @ ssh host", "sshpass -p '@' ssh host", "mysql -u root -p@ db", "mysqldump -h db -p'@' db", "psql postgresql://app:@@db/app", "PGPASSWORD=@ psql -h db", "login --password @", "login --password=\"@\"", "docker login -u me -p @ registry", "openssl enc -pass pass:@", "keytool -storepass @", "redis-cli -h db -a @ ping", "redis-cli -a @", "openssl enc -aes-256-cbc -in a -k @", "7z x -p@ a.7z", "unzip -P @ a.zip", "zip -P '@' a.zip b", "sqlcmd -S h -U sa -P @", "ldapsearch -x -D cn=a -w @", "kubectl create secret generic a --from-literal=password=@", "setx API_TOKEN q7Rk2vXm9TbL", "net use z: \\\\host\\share @ /user:me", "curl -H 'Cookie: theme=dark; sessionid=q7Rk2vXm9TbL4w' x", "if ! TOKEN=@ run; then"},
	"Dockerfile":        {"ENV PASSWORD=@", "ENV PASSWORD @", "ARG NPM_TOKEN=@", "RUN curl -u ci:@ https://host"},
	"conf.toml":         {"password = \"@\"", "password = '@'", "api_key = \"@\"", "db = { user = \"app\", password = \"@\" }"},
	"web.xml":           {"<password>@</password>", "<db:password>@</db:password>", "<password encrypted=\"no\">@</password>", "<add key=\"DbPassword\" value=\"@\"/>", "<property name=\"password\" value=\"@\"/>", "<user password=\"@\"/>"},
	"config.json":       {"\"password\": \"@\",", "{\"auths\": {\"host\": {\"auth\": \"dXNlcjpodW50ZXIybG9uZw==\"}}}", "\"mnemonic\": \"legal winner thank year wave sausage worth useful legal winner thank yellow\"", "{\"user\":\"a\",\"password\":\"@\"}", "\"dbPassword\" : \"@\"", "{\"name\": \"DB_PASSWORD\", \"value\": \"@\"}", "\"url\": \"amqp://app:@@queue\""},
	"main.py":           {"password = \"@\"", "password: str = '@'", "connect(user=\"a\", password=\"@\")", "requests.get(url, auth=('admin', '@'))", "auth = (\"admin\", \"@\")", "cookies = \"Cookie: session=q7Rk2vXm9TbL4w\"", "{\"password\": \"@\"}", "os.environ[\"DB_PASSWORD\"] = \"@\"", "run(\"mysql -p@ db\")", "requests.get(url, headers={\"Authorization\": \"Bearer @\"})", "run([\"curl\", \"-u\", \"app:@\"])", "url = f\"postgres://app:@@{host}/db\"", "password=b'@'", "# password: \"@\""},
	"main.go":           {"password := \"@\"", "const password string = \"@\"", "Password: \"@\",", "var dbPassword = `@`", "req.Header.Set(\"Authorization\", \"Bearer @\")"},
	"index.ts":          {"const password = '@';", "const password: string = \"@\";", "  password: `@`,", "{ dbPassword: '@' }", "this.password = \"@\"", "run('PGPASSWORD=@ psql')"},
	"notes.md":          {"The password: @", "use password=@", "export TOKEN=@", "`curl -u me:@ https://host`", "Authorization: Bearer @", "login me password @", "CREATE USER a IDENTIFIED BY '@';"},
	"changes.log":       {"+password: @", "-  password: @", "2024 login with password=@ failed", "mysql://app:@@db refused"},
	"k8s/secret.yaml":   {"  password: aHVudGVyMmxvbmc=", "stringData: {token: q7Rk2vXm9TbL}"},
	".npmrc":            {"_password=@", "//registry.host/:_authToken=@"},
	"values.prod.yaml":  {"adminPassword: @", "password: correcthorsebattery", "passphrase: correct horse battery staple", "password: p@ss,w0rd;x", "password: $ecret9Sauce!"},
	"gradle.properties": {"signing.keyPassword=@", "signingPassword=@"},
}

// open lists lines that mention secrets but contain none, by the name of the file that contains them: a model must be
// able to read them.
var open = map[string][]string{
	"build.sh": {"unzip -p archive.zip file", "zip -r release.zip dir", "7z x archive.7z", "openssl x509 -in server.pem -noout", "ldapsearch -x -w $LDAP_PASSWORD", "redis-cli -a \"$REDIS_PASSWORD\"", "docker compose -p project up", "setx PATH C:\\\\tools1", "curl -H 'Cookie: theme=dark' x", "net use z: \\\\host\\share /user:me"},
	"main.py": {
		"auth=(user, password)", "auth = (\"admin\", \"changeme\")", "mnemonic = make()", "{\"auth\": \"required\"}", "cookie = \"session=\" + value",
		"password: str", "password = getpass()", "password: str | None = None", "token = request.headers[\"x\"]", "token = next(tokens)", "password = os.environ[\"DB_PASSWORD\"]",
		"password=None", "def login(user, password=default_password1):", "password = config.password2", "if password == \"\":", "password = input(\"Password: \")", "token = TOKENS[i1]",
		"secret = derive2(key1, salt)", "password = password1", "self.token = token2", "TOKEN = \"IDENTIFIER\"", "token = \"number\"", "{\"password\": \"Das Passwort ist falsch\"}",
		"headers = {\"Authorization\": f\"Bearer {token}\"}", "headers={\"Authorization\": \"Bearer \" + token}", "password = \"changeme\"", "api_key = \"your-api-key-here\"",
		"secret_name = \"projects/app/keys/v2\"", "parser.add_argument(\"--password\", help=\"x\")", "raise ValueError(\"password: must be given\")", "token_type = \"bearer\"", "password = \"\"",
		"bypass = run2fast", "compass: int3 = 4", "keys = tokens2ids[x]", "max_tokens=4096", "password: Optional[SecretStr] = Field(default=None)", "secret_key = \"test-secret-key\"",
	},
	"index.ts": {
		"password: string;", "password?: string", "api_key: process.env.KEY", "token: req.headers.authorization", "const token = lexer.next();", "password: z.string().min(8)", "  password: hash1(password),",
		"token: T2Token;", "<input type=\"password\" name=\"password\" />", "const { password } = form1;", "password: Joi.string().required(),", "token: `${scope}-${id}`", "expect(token).toBe(token2)",
		"Authorization: `Bearer ${token}`", "type Password = string & { brand: 1 };",
	},
	"main.go":       {"token := lexer.Next()", "Password string `json:\"password\"`", "case token.INT8:", "token = tokens[1]", "Token: tok2,", "password := os.Getenv(\"DB_PASSWORD\")", "key := sha256.Sum256(data)", "flag.String(\"password\", \"\", \"the password\")"},
	"main.rs":       {"let password: String = read1();", "token: Token2,", "pub password: Option<String>,"},
	"config.yaml":   {"password: ${DB_PASSWORD}", "token: {{ secrets.X }}", "token: ${{ secrets.GITHUB_TOKEN }}", "passwd: true", "password: changeme", "password: example", "password: null", "password: ~", "password: \"\"", "password:", "password: !vault |", "password: *pw", "password: &pw", "password: <password>", "password: your-password-here", "secretName: my-tls-secret", "password: Passwort", "password: Contraseña", "password_file: /run/secrets/db", "password: /run/secrets/db_password", "token: tls-cert-v2", "password: vault:secret/data/db#pw", "password: ENC[AES256_GCM,data:q7Rk2vXm9TbL]", "token: https://host/token2", "user: \"1000:1000\"", "token_ttl: 24h", "max_token: 4096", "password: required", "format: password", "secret: projects/app/versions/3", "password: ********", "password: xxxxxxxx", "tokenizer: gpt2large", "  key: user1name2", "password: string", "api_key: REPLACE_ME", "args: [\"--password-file=/x\"]", "password: secret", "password: postgres", "password: test1234", "image: docker.io/library/token:2.1"},
	"app.ini":       {"password = %(db_password)s", "password =", "; password = yours", "passwords = 12", "password = $PASSWORD"},
	"db.properties": {"db.password=${env.DB_PASSWORD}", "db.password=", "validation.password=Must be longer", "error.token=Invalid"},
	"deploy.sh":     {"PASSWORD=$1", "PASSWORD=\"$1\"", "TOKEN=$(cat /run/token)", "TOKEN=`cat x`", "export TOKEN", "read -s PASSWORD", "curl -u \"$USER:$PASS\" x", "curl -H \"Authorization: Bearer $TOKEN\" x", "docker run -u 1000:1000 x", "docker run --user app:app x", "docker run -p 8080:80 x", "mysql -u root -p db", "mysql -P 3306 -h db", "ssh -p 2222 host1234", "mkdir -p build/key1", "curl -u user:password https://host", "sshpass -p \"$PASS\" ssh x", "TOKEN=${TOKEN:-}", "psql postgres://$USER:$PASS@db/x", "pip install --token-file x", "git clone git@host:me/token2.git", "chown app:app secret1"},
	"Dockerfile":    {"ENV PASSWORD=", "ARG NPM_TOKEN", "ENV TOKEN=${TOKEN}", "USER 1000:1000", "ENV PATH=/a/b:$PATH", "COPY --chown=app:app secret1 /x"},
	"web.xml":       {"<password></password>", "<password>${db.password}</password>", "<token>#{token}</token>", "<password/>"},
	"config.json":   {"\"password\": null,", "\"password\": {\"type\": \"string\"},", "\"password\": \"Passwort\"", "\"integrity\": \"sha512-" + secrettest.Drawn + "==\"", "\"type\": \"password\"", "\"token\": \"$TOKEN\"", "\"passwd\": true"},
	"notes.md":      {"Set `password: <your password>` there.", "password: must have 8 characters", "the token: a word2vec", "postgres://user:password@localhost/db", "Authorization: Bearer YOUR_TOKEN", "password = getpass()", "token = next2(tokens)", "https://host:8080/a@b", "a:b@c"},
	"poetry.lock":   {"hash = \"sha256:" + secrettest.Drawn + "\"", "token = 1"},
}

// hides reports whether a mark replaces value in a line of a file, and checks that the line comes back.
func hides(t *testing.T, name, line, value string) bool {
	t.Helper()
	text := quotedAs(name, line)
	hidden, restore := Hide(text, nil)
	if got := restore(hidden); got != text {
		t.Errorf("%s: %q came back as %q", name, text, got)
	}
	return hidden != text && (value == "" || !strings.Contains(hidden, value))
}

func TestSecretsThatAreGivenToANameAreHidden(t *testing.T) {
	t.Parallel()
	for name, lines := range assigned {
		for _, line := range lines {
			for _, value := range []string{pw, "s3cr3t-Pa55!", secrettest.Drawn[:20]} {
				// In a URL, the last @ ends the password.
				text := strings.Replace(line, "@", value, 1)
				if strings.Contains(line, "@@") {
					text = strings.Replace(line, "@@", value+"@", 1)
				}
				if !strings.Contains(line, "@") || strings.Contains(line, "p@ss") {
					text, value = line, ""
				}
				if !hides(t, name, text, value) {
					t.Errorf("%s: %s is shown", name, text)
				}
			}
		}
	}
	// A secret is found whatever ends its line, and without a file name.
	for _, text := range []string{"password: " + pw + "\r\n", "\tpassword: " + pw, "password: " + pw} {
		if hidden, restore := Hide(text, nil); strings.Contains(hidden, pw) || restore(hidden) != text {
			t.Errorf("%q became %q", text, hidden)
		}
	}
}

func TestCodeAboutSecretsStaysReadable(t *testing.T) {
	t.Parallel()
	for name, lines := range open {
		for _, line := range lines {
			if hides(t, name, line, "") {
				hidden, _ := Hide(quotedAs(name, line), nil)
				t.Errorf("%s: %s became %s", name, line, strings.Split(hidden, "\n")[2])
			}
			// What is not marked for a model holds no patch either.
			if got := Find([]byte(line+"\n"), nil); len(got) > 0 {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

// A value that is only marked in a question does not hold a patch: otherwise a person would be asked about every
// example and every fixture.
func TestWeakValuesAreNoHolds(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"config.yaml": "password: " + pw, ".env.example": "DB_PASSWORD=hunter2long", "tests/test_login.py": "login(\"me\", password=\"" + pw + "\")",
		"README.md": "curl -u me:" + pw + " https://host", "docker-compose.yml": "- POSTGRES_PASSWORD=s3cr3t-Pa55", "docs/api.md": "Authorization: Bearer abc123def456",
	} {
		if got := Find([]byte(line+"\n"), nil); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
		if !hides(t, name, line, "") {
			t.Errorf("%s: %s is shown to a model", name, line)
		}
	}
}

// A secret has the same mark wherever it is assigned.
func TestOneMarkForAnUnquotedSecret(t *testing.T) {
	t.Parallel()
	text := quotedAs("a.yaml", "password: "+pw) + quotedAs("b.env", "TOKEN=s3cr3tPa55\nPASSWORD="+pw)
	hidden, restore := Hide(text, nil)
	if strings.Count(hidden, "[secret 1]") != 2 || strings.Count(hidden, "[secret 2]") != 1 || restore(hidden) != text {
		t.Errorf("hidden is\n%s", hidden)
	}
}

// A PuTTY key has no armour.
func TestAKeyOfPuTTYIsHidden(t *testing.T) {
	t.Parallel()
	text := "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 2\n" + secrettest.Drawn + "\n" + secrettest.Drawn[3:] + "\nPrivate-MAC: 00\n"
	hidden, restore := Hide(text, nil)
	if strings.Contains(hidden, secrettest.Drawn[:12]) || strings.Contains(hidden, secrettest.Drawn[20:32]) || !strings.Contains(hidden, "Private-MAC: 00") || restore(hidden) != text {
		t.Errorf("it became\n%s", hidden)
	}
}

// Whatever lines come together, restore brings them back byte for byte.
func TestHidingAssignmentsLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for _, list := range assigned {
			lines = append(lines, list...)
		}
		var b strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "lines") {
			line := rapid.SampledFrom(lines).Draw(t, "line")
			b.WriteString(strings.ReplaceAll(line, "@", rapid.StringMatching(`[!-~]{1,20}`).Draw(t, "value")) + "\n")
		}
		text := quotedAs("x"+rapid.SampledFrom([]string{".py", ".yaml", ".md"}).Draw(t, "end"), b.String())
		if hidden, restore := Hide(text, nil); restore(hidden) != text {
			t.Fatalf("%q became %q and %q", text, hidden, restore(hidden))
		}
	})
}

// A value of letters alone is a password if its name says so and it is not a name itself.
func TestPasswordsOfLettersAreHidden(t *testing.T) {
	t.Parallel()
	drawn := []string{"RlgLKOm" + "xgJTe", "KdNnFR" + "IBXu", "euBmGQ" + "boiAzX"}
	for name, lines := range map[string][]string{
		"app.ini": {"password = @", "passwd=@", "db_pass: @"}, "main.py": {"password = \"@\"", "connect(password='@')"}, "config.json": {"\"password\": \"@\""}, "notes.txt": {"password: @"},
		"Db.cs": {"var c = \"Server=db;User Id=sa;Password=@;\";", "x(\"Data Source=h;Initial Catalog=a;Pwd=@\")"},
	} {
		for _, line := range lines {
			for _, value := range drawn {
				if text := strings.Replace(line, "@", value, 1); !hides(t, name, text, value) {
					t.Errorf("%s: %s is shown", name, text)
				}
			}
		}
	}
	for name, lines := range map[string][]string{
		"index.ts": {"password = getPassword;", "password: string;", "{ password: 'getUserPassword' }", "const password = 'InvalidLogin';", "{ password: 'LoginFormPwd' }", "password: \"REQUIRED\""},
		"app.ini":  {"password = GetFromEnvironment", "password = readDatabaseURL", "password = Passwort", "password = KeyringBackend"},
		"main.go":  {"Password: \"DatabaseURL\",", "for a := 1; user == b; password = next {"}, "i18n.json": {"\"password\": \"Contraseña\"", "\"password\": \"MotDePasse\""},
		"Db.cs": {"var c = $\"Server=db;Password={password};\";", "\"Server=db;User Id=sa;Password=%PASSWORD%;\""},
	} {
		for _, line := range lines {
			if hides(t, name, line, "") {
				hidden, _ := Hide(quotedAs(name, line), nil)
				t.Errorf("%s: %s became %s", name, line, strings.Split(hidden, "\n")[2])
			}
		}
	}
}

// Secrets on command lines are hidden, for the programs that accept them there.
func TestSecretsOfCommandLinesAreHidden(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ssh-keygen -t ed25519 -N @ -f id", "ssh-keygen -N '@'", "kubectl create secret generic x --from-literal=pw=@", "echo @ | docker login --password-stdin -u me", "echo -n '@' | helm registry login host --password-stdin",
	} {
		if text := strings.Replace(line, "@", pw, 1); !hides(t, "deploy.sh", text, pw) {
			t.Errorf("%s is shown", text)
		}
	}
	if line := "curl -u api:k" + "ey-296c87009e8a7f770d9106fd287db7f1 https://host"; !hides(t, "deploy.sh", line, "296c87009e8a7f77") {
		t.Errorf("%s is shown", line)
	}
	for _, line := range []string{
		"ssh-keygen -t ed25519 -N '' -f id", "ssh-keygen -N \"$PASS\"", "--from-literal=pw=$PW", "echo $TOKEN | docker login --password-stdin", "printf '%s' \"$TOKEN\" | docker login --password-stdin",
		"echo \"${{ secrets.TOKEN }}\" | docker login --password-stdin", "echo done | docker load", "cache-key-296c87009e8a7f770d9106fd287db7f1",
	} {
		if hides(t, "deploy.sh", line, "") {
			t.Errorf("%s is hidden", line)
		}
	}
}
