// Package web is how legwork reads the web: search providers behind one
// interface, a fetcher that cannot be talked into reaching private addresses,
// and the reduction of what was fetched to Markdown.
//
// Rules of the package:
//
//   - An address is judged when it is dialled, for every hop and every address a
//     name resolves to. Looking at the host name of a URL proves nothing.
//   - Limits count decoded bytes and wall time; no header of a server is believed.
//   - A search that failed is an error that says so; an empty list means that the
//     engines answered and had nothing.
//   - What a page says is data. Text that a reader of the page would not see is
//     dropped, link targets are dropped, nothing is ever executed.
//
// Pitfall: go-readability alone is wrong for documentation (it loses half of all
// table rows), and the plain main element alone is wrong for news. [ExtractHTML]
// decides per page between the two; see choose in extract.go.
package web
