// Takes the place of github.com/go-shiori/dom; the package's comment says why.
module github.com/go-shiori/dom

go 1.26.0

require golang.org/x/net v0.62.0
