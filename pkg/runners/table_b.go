package runners

// parsersTools lists compilers, linters, crashes and the other languages' test frameworks.
func parsersTools() []parser {
	var out []parser
	out = append(out,
		rspecParser(), minitestParser(), testunitParser(), phpunitParser(), proveParser(), batsParser(),
		ctestParser(), gtestParser(), catchParser(), checkParser(), tcltestParser(),
		junit4Parser(), antParser(), junit5Parser(), mavenParser(), gradleParser(), exunitParser(), dotnetParser(),
	)
	out = append(out, tscParser(), eslintParser(), goBuildParser(), cargoBuildParser(), javacParser(), shellcheckParser())
	out = append(out, ccParsers()...)
	out = append(out, bundlerParsers()...)
	out = append(out, pyCheckers()...)
	out = append(out, styleParsers()...)
	out = append(out, crashParsers()...)
	out = append(out, shellParsers()...)
	return append(out, checkstyleParser(), progressParser(), silentParser())
}
