package web

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/syntax"
)

// Links follows the references of static pages to files of the workspace.
var Links = check.Check{
	Name: LinksName, Gate: check.GateLint, Group: check.GroupStatic, Run: runLinks, Applies: linksApply, Judge: compare.JudgeFindings,
	Tools: []string{"python3"}, Inert: true,
	Planted: map[string]string{
		"index.html":      "<!DOCTYPE html>\n<html><body><a href=\"about.html#us\">a</a><img src=\"/img/b.svg\"></body></html>\n",
		"about.html":      "<a href=\"abuot.html\">a</a>\n",
		"part.html":       "<h1 id=\"top1\">a</h1><a href=\"#top2\">a</a>\n",
		"style/main.css":  "@import \"base.css\";\na { background: url(../img/c.png) }\n",
		"style/base.css":  "b { background: url(\"../img/b.svg\") }\n",
		"site/img/b.svg":  "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"img/b.svg":       "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
		"site/index.html": "<a href=\"../index.html?a=b\">a</a><a href=\"https://example.com/a.html\">b</a>\n",
	},
	Prove: check.Proves(runLinks, map[string]string{"about.html": "broken-link", "part.html": "broken-fragment", "style/main.css": "broken-link"}),
}

// built matches the names of files of generators and servers, whose pages refer to files that are made later or to addresses
// without a file.
var built = lazyregexp.New(`^(package\.json|bower\.json|composer\.json|Gemfile|_config\.ya?ml|mkdocs\.ya?ml|(hugo|config|book|zola|Cargo)\.(toml|ya?ml)` +
	`|conf\.py|manage\.py|wsgi\.py|asgi\.py|go\.mod|pom\.xml|build\.gradle(\.kts)?|Makefile|Dockerfile|deno\.jsonc?)$` +
	`|\.(php|rb|jsp|aspx|cshtml|vue|svelte|astro|erb|ejs|hbs|njk|liquid|pug|j2|jinja2?|tmpl|gohtml)$`)

// serves matches Python that makes pages or answers requests.
var serves = lazyregexp.New(`(?i)\b(flask|django|fastapi|bottle|aiohttp|tornado|starlette|jinja2?|mako|sphinx|pelican|http\.server|sanic|cherrypy|pyramid)\b`)

// parts matches directories with pieces from which pages are made elsewhere.
var parts = lazyregexp.New(`(^|/)(_?templates?|_?layouts?|_?includes?|_?partials?|views|components|node_modules|testdata|fixtures)/`)

// staticPages lists the HTML and CSS files of a view, or none if something other than a file system serves them.
func staticPages(v check.View) []string {
	return check.Recall(v, "static pages", func() []string { return listStaticPages(v) })
}

func listStaticPages(v check.View) []string {
	var pages []string
	html := false
	for _, p := range v.Paths() {
		switch ext := strings.ToLower(path.Ext(p)); {
		case ext != ".html" && ext != ".htm" && ext != ".css" || parts.MatchString(p):
		default:
			html, pages = html || ext != ".css", append(pages, p)
		}
	}
	if !html || slices.ContainsFunc(v.Paths(), func(p string) bool { return built.MatchString(path.Base(p)) }) {
		return nil
	}
	isSource := func(p string) bool { return strings.ToLower(path.Ext(p)) == ".py" }
	if p, err := v.First(check.Search{What: "server", Among: isSource, Order: strings.Compare, Match: serves.Match}); err != nil || p != "" {
		return nil
	}
	return pages
}

// linksApply returns the reason why there are no references to follow, or "".
func linksApply(v check.View) string {
	if len(staticPages(v)) == 0 {
		return "the workspace has no static pages, or something builds or serves them"
	}
	return ""
}

// runLinks follows the references of every page: deleting or renaming a file breaks pages that the patch does not touch.
func runLinks(ctx context.Context, b check.Bench) check.Outcome {
	pages := staticPages(b.View)
	cmd, err := syntax.Command(b.Tools, pages)
	if err != nil {
		return check.Infraf("list the pages: %v", err)
	}
	cmd.Args[slices.Index(cmd.Args, b.Tools.Syntax)] = b.Tools.Links
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out
	}
	answer, err := syntax.Parse(res, len(pages))
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the answer of the link check: %v", err)
		return out
	}
	out.Output = ""
	out.Findings = check.NewSources(b.View).Fill(answer.Findings)
	out.Detail = fmt.Sprintf("the references of %d static pages", len(answer.Checked))
	return out
}
