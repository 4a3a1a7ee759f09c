package lang

// rows are the languages. The type documents the rules of each field; a test checks what a row must have.
var rows = []*Language{
	{
		ID: "python", Prompt: "python", Family: Python, Extensions: []string{".py", ".pyi", ".pyw"}, Shebangs: []string{"python", "pypy"},
		Syntax: pythonic, Flow: Braces, Offside: true, Values: Code, Tests: pythonTests, Checked: true, Parsed: true,
		Manifests: []string{
			"pyproject.toml", "setup.py", "setup.cfg", "*requirements*.txt", "*requirements*.in", "requirements/*.txt", "requirements/*.in", "constraints*.txt", "pipfile", "pipfile.lock",
			"poetry.lock", "uv.lock", "pdm.lock", "environment.yml", "environment.yaml", "pip.conf", ".pip.conf", "uv.toml",
		},
	},
	{
		ID: "javascript", Prompt: "javascript", Family: Script, Extensions: []string{".js", ".mjs", ".cjs", ".jsx"}, JSX: []string{".js", ".mjs", ".cjs", ".jsx"},
		Shebangs: []string{"node", "nodejs", "deno", "bun"}, Syntax: script, Flow: Brackets, Values: Code, Tests: scriptTests, Checked: true, Parsed: true,
		Manifests: []string{
			"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", "bun.lock", "bun.lockb",
			".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml",
		},
	},
	{
		ID: "typescript", Prompt: "typescript", Family: Script, Extensions: []string{".ts", ".tsx", ".mts", ".cts"}, JSX: []string{".tsx"},
		Shebangs: []string{"ts-node", "tsx"}, Syntax: script, Flow: Brackets, Values: Code, Tests: scriptTests, Checked: true, Parsed: true,
	},
	{
		ID: "go", Prompt: "go", Family: Go, Extensions: []string{".go"}, Also: []string{".mod", ".sum"}, Syntax: golike, Flow: Brackets,
		Values: Code, Tests: goTests, Checked: true, Parsed: true, Manifests: []string{"go.mod", "go.sum", "go.work", "go.work.sum"},
	},
	{
		ID: "rust", Prompt: "rust", Family: Rust, Extensions: []string{".rs"}, Syntax: rustlike, Flow: Free, Values: Code, Tests: rustTests,
		Manifests: []string{"cargo.toml", "cargo.lock", "build.rs", ".cargo/"},
	},
	{
		ID: "ruby", Prompt: "ruby", Extensions: []string{".rb", ".rake", ".gemspec", ".ru"}, Shebangs: []string{"ruby", "jruby"}, Syntax: rubylike,
		Files: []string{"gemfile", "rakefile", "guardfile", "podfile", "vagrantfile"}, Values: Code, Tests: rubyTests,
		Manifests: []string{"gemfile", "gemfile.lock", "*.gemspec"},
	},
	{
		ID: "java", Prompt: "java", Family: JVM, Extensions: []string{".java"}, Syntax: javalike, Flow: Free, Values: Code, Tests: javaTests,
		Manifests: []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "gradle.lockfile"},
	},
	{ID: "kotlin", Prompt: "kotlin", Family: JVM, Extensions: []string{".kt", ".kts"}, Syntax: slashed, Values: Code, Tests: kotlinTests},
	{
		ID: "scala", Prompt: "scala", Extensions: []string{".scala"}, Syntax: slashed, Values: Code,
		Tests: &Tests{Name: "Scala", Named: re(`(?:Tests?|Spec|Suite)\.scala$`), Tools: jvmTools},
	},
	{
		ID: "groovy", Prompt: "groovy", Extensions: []string{".groovy"}, Syntax: slashed, Values: Code,
		Tests: &Tests{Name: "Groovy", Named: re(`(?:Tests?|Spec)\.groovy$`), Tools: jvmTools},
	},
	{ID: "gradle", Prompt: "groovy", Extensions: []string{".gradle"}, Syntax: slashed, Values: Code},
	{
		ID: "clojure", Prompt: "clojure", Extensions: []string{".clj", ".cljs", ".cljc"}, Syntax: semicolon, Values: Code,
		Tests: &Tests{Name: "Clojure", Named: re(`_test\.clj[cs]?$`), Tools: []string{"lein", "clojure", "clj", "bb"}},
	},
	{
		ID: "csharp", Prompt: "csharp", Extensions: []string{".cs"}, Syntax: slashed, Values: Code, Tests: csharpTests,
		Manifests: []string{"*.csproj", "packages.lock.json"},
	},
	{
		ID: "fsharp", Prompt: "fsharp", Extensions: []string{".fs"}, Syntax: fsharp, Offside: true, Values: Code,
		Tests: &Tests{Name: "F#", Named: re(`Tests?\.fs$`), Tools: []string{"dotnet"}},
	},
	{
		ID: "php", Prompt: "php", Extensions: []string{".php", ".phpt"}, Shebangs: []string{"php"}, Syntax: php, Values: Code,
		Tests:     &Tests{Name: "PHP", Named: re(`Test\.php$|\.phpt$`), Tools: []string{"php", "phpunit", "pest", "composer"}},
		Manifests: []string{"composer.json", "composer.lock"},
	},
	{
		ID: "swift", Prompt: "swift", Extensions: []string{".swift"}, Syntax: slashed, Values: Code,
		Tests: &Tests{Name: "Swift", Named: re(`Tests?\.swift$`), Text: re(`XCTest|@Test\b`), Tools: []string{"swift", "xcodebuild"}},
	},
	{
		ID: "dart", Prompt: "dart", Extensions: []string{".dart"}, Syntax: slashed, Values: Code,
		Tests: &Tests{Name: "Dart", Named: re(`_test\.dart$`), Tools: []string{"dart", "flutter"}},
	},
	{
		ID: "elixir", Prompt: "elixir", Extensions: []string{".ex", ".exs"}, Syntax: quoted, Values: Code,
		Tests:     &Tests{Name: "Elixir", Named: re(`_test\.exs$`), Tools: []string{"mix"}},
		Manifests: []string{"mix.exs", "mix.lock"},
	},
	{
		ID: "erlang", Prompt: "erlang", Extensions: []string{".erl"}, Syntax: percent, Values: Code,
		Tests: &Tests{Name: "Erlang", Named: re(`_(?:SUITE|tests)\.erl$`), Tools: []string{"rebar3"}},
	},
	{ID: "c", Prompt: "c", Extensions: []string{".c", ".h"}, Syntax: clike, Flow: Free, Values: Code, Tests: cTests},
	{ID: "cpp", Prompt: "cpp", Extensions: []string{".cc", ".cpp", ".cxx", ".hh", ".hpp"}, Also: []string{".h"}, Syntax: clike, Flow: Free, Values: Code, Tests: cTests},
	{
		ID: "perl", Prompt: "perl", Extensions: []string{".pl", ".pm", ".t"}, Shebangs: []string{"perl"}, Syntax: hashed, Values: Code, Tests: perlTests,
	},
	{
		ID: "lua", Prompt: "lua", Extensions: []string{".lua"}, Shebangs: []string{"lua", "luajit"}, Syntax: lua, Values: Code,
		Tests: &Tests{Name: "Lua", Named: re(`_(?:spec|test)\.lua$`), Tools: []string{"lua", "luajit", "busted"}},
	},
	{ID: "haskell", Prompt: "haskell", Extensions: []string{".hs"}, Syntax: haskell, Values: Code, Tests: haskellTests},
	{ID: "elm", Prompt: "elm", Extensions: []string{".elm"}, Syntax: haskell},
	{
		ID: "ocaml", Prompt: "ocaml", Extensions: []string{".ml", ".mli"}, Syntax: ocaml, Values: Code,
		Tests: &Tests{Name: "OCaml", Named: re(`^test_.*\.ml$|_test\.ml$`), Tools: []string{"dune"}},
	},
	{
		ID: "julia", Prompt: "julia", Extensions: []string{".jl"}, Shebangs: []string{"julia"}, Syntax: hashed,
		Tests: &Tests{Name: "Julia", Within: re(`(?:^|/)test/runtests\.jl$`), Tools: []string{"julia"}},
	},
	{
		ID: "r", Prompt: "r", Extensions: []string{".r"}, Shebangs: []string{"Rscript"}, Syntax: quoted,
		Tests: &Tests{Name: "R", Within: re(`(?:^|/)testthat/test[^/]*$`), Tools: []string{"Rscript", "R"}},
	},
	{
		ID: "zig", Prompt: "zig", Extensions: []string{".zig"}, Syntax: braced,
		Tests: &Tests{Name: "Zig", Inline: true, Text: re(`(?m)^\s*test\s+["{]`), Tools: []string{"zig"}},
	},
	{
		ID: "nim", Prompt: "nim", Extensions: []string{".nim"}, Syntax: hashed, Offside: true,
		Tests: &Tests{Name: "Nim", Within: re(testDir + `t[^/]*$`), Tools: []string{"nim", "nimble"}},
	},
	{
		ID: "crystal", Prompt: "crystal", Extensions: []string{".cr"}, Syntax: hashed,
		Tests: &Tests{Name: "Crystal", Named: re(`_spec\.cr$`), Tools: []string{"crystal"}},
	},
	{
		ID: "powershell", Prompt: "powershell", Extensions: []string{".ps1", ".psm1"}, Shebangs: []string{"pwsh"}, Syntax: hashed,
		Tests: &Tests{Name: "PowerShell", Named: re(`\.Tests\.ps1$`), Tools: []string{"pwsh"}},
	},
	{
		ID: "shell", Prompt: "bash", Family: Shell, Extensions: []string{".sh", ".bash", ".dash"}, Shebangs: []string{"sh", "bash", "dash"}, Syntax: bourne,
		Values: Data, Parsed: true,
	},
	// No parser of the toolchain reads these two.
	{ID: "zsh", Prompt: "zsh", Family: Shell, Extensions: []string{".zsh", ".ksh"}, Shebangs: []string{"zsh", "ksh"}, Syntax: bourne, Values: Data},
	{
		ID: "bats", Prompt: "bash", Family: Shell, Extensions: []string{".bats"}, Shebangs: []string{"bats"}, Syntax: bourne,
		Tests: &Tests{Name: "Bats", Named: re(`.`), Tools: []string{"bats"}},
	},
	{
		ID: "gherkin", Prompt: "gherkin", Extensions: []string{".feature"}, Syntax: hashed, Offside: true, Checked: true,
		Tests: &Tests{Name: "Gherkin", Named: re(`.`), Tools: []string{"behave", "cucumber", "cucumber-js"}},
	},
	{
		ID: "robot", Prompt: "robotframework", Extensions: []string{".robot"}, Syntax: hashed, Offside: true,
		Tests: &Tests{Name: "Robot Framework", Named: re(`.`), Tools: []string{"robot"}},
	},
	{
		ID: "solidity", Prompt: "solidity", Extensions: []string{".sol"}, Syntax: braced,
		Tests: &Tests{Name: "Solidity", Named: re(`\.t\.sol$`), Tools: []string{"forge"}},
	},
	{ID: "sql", Prompt: "sql", Extensions: []string{".sql"}, Syntax: dashed, Tests: &Tests{Name: "SQL", Tools: []string{"psql", "sqlfluff", "pg_prove"}}},
	{
		ID: "fortran", Prompt: "fortran", Extensions: []string{".f90", ".f95", ".f03", ".f"}, Syntax: exclamation,
		Tests: &Tests{Name: "Fortran", Tools: []string{"fpm", "gfortran"}},
	},
	{ID: "assembly", Prompt: "asm", Extensions: []string{".asm", ".s"}, Syntax: semicolon, Tests: &Tests{Name: "assembly"}},
	{
		ID: "protobuf", Prompt: "protobuf", Extensions: []string{".proto"}, Syntax: proto, Flow: Free, Values: Code,
		Tests: &Tests{Name: "Protocol Buffers", Tools: []string{"buf", "protoc"}},
	},
	{ID: "terraform", Prompt: "hcl", Extensions: []string{".tf"}, Syntax: quoted, Values: Code, Tests: terraformTests},
	{ID: "hcl", Prompt: "hcl", Extensions: []string{".hcl"}, Syntax: quoted, Values: Data, Tests: terraformTests},
	{ID: "nix", Prompt: "nix", Extensions: []string{".nix"}, Syntax: hashed},
	{ID: "graphql", Prompt: "graphql", Extensions: []string{".graphql"}, Syntax: hashed, Values: Code},
	{ID: "lisp", Prompt: "lisp", Extensions: []string{".lisp", ".el", ".scm"}, Syntax: semicolon},
	{ID: "latex", Prompt: "latex", Extensions: []string{".tex", ".sty"}, Syntax: percent},
	{
		ID: "html", Prompt: "html", Family: Markup, Extensions: []string{".html", ".htm"}, Also: []string{".xhtml"}, Syntax: markup, Values: Code, Parsed: true,
	},
	{ID: "vue", Prompt: "vue", Family: Markup, Extensions: []string{".vue"}, Syntax: markup, Values: Code},
	{ID: "svelte", Prompt: "svelte", Family: Markup, Extensions: []string{".svelte"}, Syntax: markup, Values: Code},
	{ID: "astro", Prompt: "astro", Family: Markup, Extensions: []string{".astro"}, Syntax: markup, Values: Code},
	{ID: "css", Prompt: "css", Family: CSS, Extensions: []string{".css"}, Also: []string{".scss", ".sass", ".less"}, Syntax: style, Values: Code, Parsed: true},
	{ID: "scss", Prompt: "scss", Family: CSS, Extensions: []string{".scss"}, Syntax: styles, Values: Code},
	{ID: "sass", Prompt: "sass", Family: CSS, Extensions: []string{".sass"}, Syntax: styles, Offside: true},
	{ID: "less", Prompt: "less", Family: CSS, Extensions: []string{".less"}, Syntax: styles, Values: Code},
	{ID: "xml", Prompt: "text", Extensions: []string{".xml", ".svg", ".xhtml", ".xsd", ".xsl", ".xslt"}, Syntax: markdown, Values: Data, Parsed: true},
	{ID: "plist", Prompt: "text", Extensions: []string{".plist"}, Syntax: markdown, Values: Data},
	{ID: "markdown", Prompt: "markdown", Extensions: []string{".md", ".markdown"}, Syntax: markdown, Offside: true, Prose: true},
	{ID: "mdx", Prompt: "text", Extensions: []string{".mdx"}, Syntax: markdown, Offside: true, Prose: true},
	{ID: "restructuredtext", Prompt: "text", Extensions: []string{".rst"}, Syntax: none, Offside: true, Prose: true},
	{ID: "asciidoc", Prompt: "text", Extensions: []string{".adoc"}, Syntax: none, Offside: true, Prose: true},
	{ID: "json", Prompt: "json", Extensions: []string{".json", ".webmanifest"}, Also: []string{".jsonc"}, Syntax: none, Flow: Free, Values: Data, Parsed: true},
	{ID: "jsonc", Prompt: "json", Extensions: []string{".jsonc", ".code-workspace"}, Syntax: braced, Values: Data, Parsed: true},
	{ID: "yaml", Prompt: "yaml", Extensions: []string{".yaml", ".yml"}, Syntax: yamlText, Offside: true, Values: Data, Parsed: true},
	{ID: "toml", Prompt: "toml", Extensions: []string{".toml"}, Syntax: tomlText, Flow: Brackets, Values: Data, Parsed: true},
	{ID: "csv", Prompt: "text", Extensions: []string{".csv", ".tsv"}, Syntax: none},
	{ID: "ini", Prompt: "text", Extensions: []string{".ini"}, Syntax: semicolon, Values: Data},
	{
		ID: "properties", Prompt: "text", Syntax: hashed, Values: Data,
		Extensions: []string{".cfg", ".conf", ".cnf", ".config", ".properties", ".env", ".envrc", ".service", ".tfvars", ".npmrc", ".pypirc", ".netrc"},
	},
	{ID: "make", Prompt: "makefile", Extensions: []string{".mk"}, Files: []string{"makefile"}, Syntax: hashed, Values: Data},
	{ID: "cmake", Prompt: "cmake", Extensions: []string{".cmake"}, Syntax: hashed},
	{ID: "dockerfile", Prompt: "dockerfile", Extensions: []string{".dockerfile"}, Files: []string{"dockerfile", "containerfile"}, Syntax: hashed, Values: Data},
	{ID: "just", Prompt: "text", Files: []string{"justfile"}, Syntax: hashed},
	{ID: "ignore", Prompt: "text", Files: []string{".gitignore", ".dockerignore"}, Syntax: hashed},
}
