package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
)

// acts has names of files that act outside the box, by kind of hold.
var acts = map[string]string{
	CI: `.gitlab-ci.yaml .gitlab-ci/build.yml .gitlab/ci/test.yml ci/deploy.gitlab-ci.yml
		.azure-pipelines/x.yml azure-pipelines/build.yml .azuredevops/x.yml .vsts-ci.yml
		.drone.yaml .drone.star .drone.jsonnet .woodpecker/x.yaml buildkite.yml
		.buildkite/hooks/pre-command deploy.jenkinsfile .jenkins/x.groovy .travis/install.sh
		.appveyor/x.ps1 .cirrus.star .teamcity/settings.kts .semaphore/semaphore.yml
		.tekton/push.yaml .gitea/workflows/x.yml .forgejo/workflows/x.yml .build.yml
		.builds/alpine.yml codefresh.yml .codefresh/x.yml bitrise.yml codemagic.yaml
		ios/ci_scripts/ci_post_clone.sh Earthfile dagger.json .zuul.yaml zuul.d/jobs.yaml
		.prow.yaml .taskcluster.yml app.gocd.yaml screwdriver.yaml .onedev-buildspec.yml
		.vela.yml .scrutinizer.yml .readthedocs.yaml .goreleaser.yaml .releaserc.json
		release.config.js release-please-config.json .changeset/config.json renovate.json5
		.renovaterc .renovaterc.json .mergify.yml .github/mergify.yml .github/settings.yml
		.github/dependabot.yaml .github/scripts/release.sh .github/labeler.yml netlify.toml
		web/vercel.json Procfile heroku.yml fly.toml fly.staging.toml render.yaml
		railway.json nixpacks.toml serverless.yml serverless.ts app.yaml cloudbuild.yml
		buildspec.yaml appspec.yml amplify.yml .ebextensions/x.config
		.platform/hooks/predeploy/x.sh .platform.app.yaml wrangler.jsonc firebase.json
		.firebaserc Pulumi.yaml Dangerfile dangerfile.ts fastlane/Fastfile ios/Fastfile jitpack.yml
		atlantis.yaml digger.yml qodana.yaml azure.yaml`,
	Tooling: `.vs/tasks.vs.json tasks.vs.json launch.vs.json Run.run.xml .run/Server.run.xml
		.helix/languages.toml .nova/Tasks/x.json x.sublime-project x.sublime-build .exrc
		.vimrc .nvim.lua .nvimrc .lvimrc .vim/coc-settings.json .dir-locals.el
		lisp/.dir-locals-2.el .gitpod.yml devfile.yaml .idx/dev.nix .replit .autoenv.zsh
		.shadowenv.d/x.lisp .mise.local.toml mise.dev.toml .config/mise/config.toml
		.mise/tasks/x .prototools devbox.json devenv.nix flake.nix flake.lock shell.nix
		default.nix .gdbinit .lldbinit .pdbrc .irbrc .pryrc .iex.exs .Rprofile .ghci
		.ocamlinit .octaverc .huskyrc.json lefthook.toml lefthook-local.yml
		.config/lefthook.yml prek.toml .pre-commit-hooks.yaml .git-hooks/pre-commit/x.rb
		.lintstagedrc.mjs lint-staged.config.js .simple-git-hooks.json commitlint.config.js
		.commitlintrc.yml captainhook.json grumphp.yml .cargo-husky/hooks/pre-commit
		.trunk/trunk.yaml AGENTS.override.md AGENT.md sub/AGENT.md .agents/skills/x/SKILL.md
		CLAUDE.local.md .claude-plugin/plugin.json .windsurfrules sub/.windsurf/rules/x.md
		.clinerules .clinerules/x.md .clinerules-code .roo/rules/x.md .roorules
		.roorules-code .roomodes .kilocode/rules/x.md .kilocodemodes opencode.json
		opencode.jsonc .opencode/plugins/x.ts .crush.json CRUSH.md .goosehints
		.continuerules .rules .junie/guidelines.md .kiro/hooks/x.json .augment/rules/x.md
		.augment-guidelines .trae/rules/x.md .amazonq/rules/x.md .qwen/settings.json QWEN.md
		a/b/QWEN.md .openhands/setup.sh .factory/settings.json WARP.md .amp/settings.json
		.coderabbit.yaml .pr_agent.toml .github/copilot-instructions.md
		.github/instructions/x.instructions.md .github/prompts/x.prompt.md
		.github/agents/x.md .github/hooks/x.json .codebuddy/rules/x.md CODEBUDDY.md IFLOW.md
		.iflow/settings.json skills/x/SKILL.md .env.leave .lite_project.lua .lazy.lua
		.bsp/sbt.json .kateproject .user.ini .Renviron sitecustomize/__init__.py
		usercustomize/x.py python312._pth rust-analyzer.toml omnisharp.json greptile.json .greptile/rules.md ellipsis.yaml .sourcery.yaml best_practices.md
		bin/activate-hermit bin/hermit bin/hermit.hcl bin/.go-1.26.0.pkg aqua.yaml pkgx.yaml guix.scm manifest.scm nim.cfg src/shop.nim.cfg
		config.nims src/shop.nims graphql.config.js graphql.config.yml apollo.config.ts cspell.config.js cspell.config.mts uno.config.ts
		Shop.uproject Plugins/Shop.uplugin project.godot addons/shop/plugin.cfg nbproject/project.xml`,
	Dependencies: `.yarn/releases/yarn-4.9.2.cjs .yarn/plugins/x.cjs .yarn/sdks/typescript/lib/tsc.js
		.pnp.cjs .pnp.loader.mjs .pnpmfile.mjs patches/left-pad+1.3.0.patch
		patches/left-pad@1.3.0.patch binding.gyp rush.json
		common/config/rush/pnpm-config.json deno.json deno.jsonc deno.lock pip.ini
		pylock.toml poetry.toml hatch_build.py pixi.toml gems.rb .bundle/config
		ext/extconf.rb gradle.properties gradle/wrapper/gradle-wrapper.jar
		gradle/wrapper/gradle-wrapper.properties gradlew gradle/libs.versions.toml
		settings.gradle.kts x/deps.gradle .mvn/jvm.config .mvn/extensions.xml
		.mvn/wrapper/maven-wrapper.properties mvnw build.sbt project/plugins.sbt
		project/build.properties .sbtopts build.mill project.clj deps.edn
		Directory.Build.props src/Directory.Build.targets NuGet.Config
		Directory.Packages.props .config/dotnet-tools.json x.fsproj rust-toolchain
		rust-toolchain.toml .bazelrc MODULE.bazel WORKSPACE x/WORKSPACE.bazel .bazelversion
		tools/bazel .buckconfig pants.toml Brewfile x.cabal cabal.project Setup.hs
		stack.yaml rebar.config pubspec.yaml Package.swift Package.resolved Podfile
		x.podspec Makefile.PL cpanfile renv.lock renv/activate.R x.opam x.rockspec
		build.zig.zon conanfile.py vcpkg.json .terraform.lock.hcl paket.dependencies paket.lock
		requirements.lock requirements-dev.lock debian/postinst debian/shop.prerm debian/rules Berksfile Cartfile Cartfile.resolved
		bower.json Packages/manifest.json Packages/packages-lock.json symfony.lock dub.json dub.sdl shop.nimble nimble.lock shard.yml shard.lock
		spago.yaml spago.dhall elm.json shadow-cljs.edn build.boot ivy.xml ionic.config.json hook/build.dart`,
}

// ordinary has names of source and documentation files, some similar to those in acts.
const ordinary = `.dockerignore .npmignore .cursorignore .gitkeep .nvmrc .python-version .env.example .env.test.example
		.well-known/security.txt .git-blame-ignore-revs .browserslistrc .changeset/new.md .storybook/preview.ts
		docs/.hidden tests/data/.unknown src/.cache-key pkg/.golden skills/README.md docs/replit.md lib/fastlane/lane.rb
		README.md docs/README.md CHANGELOG.md CONTRIBUTING.md CONVENTIONS.md LICENSE
		llms.txt docs/llms.txt SECURITY.md docs/agent.md docs/models/qwen.md docs/warp.md
		docs/rules.md src/main.py src/rules.py src/agent.py src/claude.py src/cursor.ts
		src/husky.go cmd/yarn/main.go internal/vscode/launch.go pkg/procfile/parse.go
		pkg/envrc.go lib/lefthook_test.rb src/gradle/parser.java src/bazel.rs
		src/workspace.rs bin/workspace lib/workspace/index.ts docs/workspace.md k8s/app.yaml
		charts/x/values.yaml charts/x/templates/app.yaml src/app.yaml config/app.yml
		config/database.yml app.json app/app.json tests/data/.rules/x.txt src/.rules
		patches/fix.patch debian/patches/series debian/control debian/changelog locales/en/global.json global.json docs/best_practices.md k8s/azure.yaml docs/ellipsis.yaml src/pkgbuild.py setup/install.md src/setup.ts
		scripts/release.sh scripts/ci.sh ci/README.md tools/bazel/defs.bzl BUILD.bazel
		src/BUILD pkg/default.nix nix/module.nix src/index.js index.html static/site.css
		public/vercel.svg src/netlify.ts .gitignore .dockerignore .nvmrc .python-version
		.node-version .ruby-version .env.example .well-known/security.txt .storybook/main.ts
		.vitepress/config.ts .changeset/brave-cats-jump.md .github/ISSUE_TEMPLATE/bug.yml
		.github/ISSUE_TEMPLATE/feature.md .github/PULL_REQUEST_TEMPLATE.md
		.github/CONTRIBUTING.md .github/FUNDING.yml .github/logo.png github/workflows.go
		docs/.nojekyll vendor.go app/models/user.rb src/lib.rs build.zig src/build.ts
		test/fixtures/input.json testdata/a.golden src/Mod.hs x.tf x.nix
		examples/mise/README.md docs/mise.md docs/opencode.md src/opencode.ts
		assets/gradle.png docs/procfile.md src/travis.py lib/circleci/api.rb
		notebooks/x.ipynb migrations/1.sql proto/x.proto public/manifest.json cspell.json cspell.config.yaml
		src/app.config.ts bin/hermit.py src/hooks/build.dart docs/release.toml lib/_service/x.py src/project.toml`

// TestFilesThatActOutsideAreHeld tries each name as it is, in a directory if tools also read it there, and in spellings that file systems
// treat as the same.
func TestFilesThatActOutsideAreHeld(t *testing.T) {
	t.Parallel()
	rooted := strings.Fields(".github/mergify.yml app.yaml default.nix .rules WORKSPACE tools/bazel azure.yaml ellipsis.yaml best_practices.md _service release.toml project.toml bin/pre_compile bin/post_compile clevercloud/python.json")
	for kind, names := range acts {
		for _, name := range strings.Fields(names) {
			variants := []string{name, strings.ToLower(name), strings.ReplaceAll(name, "/", `\`), name + ".", strings.ReplaceAll(name, "/", " /"), name[:1] + "\u200c" + name[1:]}
			if !slices.Contains(rooted, name) {
				variants = append(variants, "sub/"+name, `Sub\Dir/`+name)
			}
			// In lower case some names are ordinary words, and below the root in upper case too.
			if strings.HasSuffix(name, ".md") && strings.Contains(name, "/") && name != strings.ToLower(name) {
				variants = slices.Delete(variants, 1, 2)
			} else {
				variants = append(variants, strings.ToUpper(name))
			}
			for _, v := range variants {
				holds := ReviewText(create(v, "x"), nil)
				if !slices.ContainsFunc(holds, func(h Hold) bool { return h.Kind == kind && h.Block && h.Path == v && h.Reason != "" }) {
					t.Errorf("%q as %q: %+v, want %s", name, v, holds, kind)
				}
			}
		}
	}
}

func TestOrdinaryFilesAreNotHeld(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(ordinary) {
		if holds := ReviewText(create(name, "x"), nil); len(holds) > 0 {
			t.Errorf("%s: %+v", name, holds)
		}
	}
}

// A file that loses or gains such a name acts differently, too.
func TestBothEndsOfARenameAct(t *testing.T) {
	t.Parallel()
	for kind, names := range acts {
		for _, name := range strings.Fields(names)[:20] {
			for _, c := range []workspace.Change{{Op: workspace.Rename, Path: name, From: "x.txt"}, {Op: workspace.Rename, Path: "x.txt", From: name}, {Op: workspace.Delete, Path: name}} {
				holds := ReviewText(workspace.Changeset{Changes: []workspace.Change{c}}, nil)
				if len(holds) != 1 || holds[0].Kind != kind || !holds[0].Block || holds[0].Path != name {
					t.Errorf("%s of %s: %+v, want %s", c.Op, name, holds, kind)
				}
			}
		}
	}
}

// An unknown hidden name at the top is held, whatever its tool, and so are some names that act only at the top.
func TestUnknownHiddenNamesAtTheTopAreHeld(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`.devin/x.md .tern-project .p4config .luarc.json .kokoro/build.cfg .rovodev/config.yml .SomethingNew .some/thing/new.json
		replit.md startup.m`) {
		for _, cs := range []workspace.Changeset{create(name, "x\n"), modify(name, "x\n", "y\n"), remove(name, "x\n")} {
			if holds := ReviewText(cs, nil); len(holds) != 1 || holds[0].Kind != Tooling || !holds[0].Block {
				t.Errorf("%s: %+v", name, holds)
			}
		}
		if holds := ReviewText(create("docs/notes/"+name, "x\n"), nil); len(holds) > 0 {
			t.Errorf("below: %s: %+v", name, holds)
		}
	}
}

// A file that only states a version has nothing that a tool could act on. It is held if it said more before, or is deleted.
func TestAHiddenVersionIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, cs := range []workspace.Changeset{create(".version", "v1.2.3-rc.1+5\n"), modify(".version", "0.3.900\n", "0.3.901\n")} {
		if holds := ReviewText(cs, nil); len(holds) > 0 {
			t.Errorf("%+v", holds)
		}
	}
	for _, cs := range []workspace.Changeset{
		create(".version", "sh x\n"), create(".version", "1.2.3\nsh x\n"), create(".version", ""), modify(".version", "a = 1\n", "1.2.3\n"), modify(".version", "1.2.3\n", "$(x)\n"), remove(".version", "1.2.3\n"),
		create(".vscode/tasks.json", "1.2.3\n"), create("CLAUDE.md", "1.2.3\n"),
	} {
		if holds := ReviewText(cs, nil); len(holds) != 1 || holds[0].Kind != Tooling || !holds[0].Block {
			t.Errorf("%+v: %+v", cs.Changes[0].Path, holds)
		}
	}
}

// A name that several tools use is held only if the text is that of the tool that acts.
func TestAFileActsByItsKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		kind       string
	}{
		{"app.json", `{"scripts": {"postdeploy": "make"}}`, CI},
		{"app.json", `{"name": "x", "buildpacks": [{"url": "https://x"}]}`, CI},
		{"app.json", `{"expo": {"name": "x", "scripts": {}}}`, ""},
		{"app.json", `{"name": "x", "displayName": "X"}`, ""},
		{"app.json", `{"pages": ["a"], "window": {}}`, ""},
		{"sub/app.json", `{"scripts": {"postdeploy": "make"}}`, ""},
		{"global.json", `{"msbuild-sdks": {"X.Sdk": "1.0.0"}}`, Dependencies},
		{"src/global.json", "{\n // which\n \"sdk\": {\"version\": \"9.0.100\"}}", Dependencies},
		{"locales/en/global.json", `{"tools": "Tools", "sdk": "SDK", "save": "Save"}`, ""},
	} {
		holds := ReviewText(create(c.name, c.text), nil)
		if len(holds) != 0 != (c.kind != "") || len(holds) > 0 && holds[0].Kind != c.kind {
			t.Errorf("%s %s: %+v", c.name, c.text, holds)
		}
		// Removing these keys is held just the same.
		if holds := ReviewText(modify(c.name, c.text, "{}"), nil); len(holds) != 0 != (c.kind != "") {
			t.Errorf("%s %s is emptied: %+v", c.name, c.text, holds)
		}
	}
}
