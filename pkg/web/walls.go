package web

import "strings"

// wallPhrases are what stands on pages that are shown in place of the one asked
// for. Title phrases are looked for in the window title, text phrases in short
// pages only: a long page about captchas is a page.
var wallPhrases = []struct {
	reason string
	title  []string
	text   []string
}{
	{
		"the site wants a browser check or captcha first",
		[]string{
			"just a moment", "attention required", "are you a robot", "are you human", "robot check", "security check", "verify you are human",
			"bot verification", "ddos-guard", "human verification", "captcha", "pardon our interruption", "client challenge", "access to this page has been denied",
		},
		[]string{
			"verify you are human", "verify that you are human", "checking your browser", "checking if the site connection is secure",
			"enable javascript and cookies to continue", "unusual traffic from your", "complete the captcha", "solve the captcha", "i'm not a robot",
			"prove you are human", "prove you're not a robot", "confirm you are human", "automated requests from your", "press and hold the button",
		},
	},
	{
		"the site wants a login first",
		[]string{"log in", "login", "sign in", "sign-in", "authentication required", "anmelden", "connexion"},
		[]string{
			"please log in to continue", "please sign in to continue", "log in to continue", "sign in to continue", "you must log in", "you must be logged in",
			"you need to log in", "you need to sign in", "login required", "sign in to your account", "log in to view this",
		},
	},
	{
		"the text is behind a paywall",
		nil,
		[]string{
			"subscribe to continue reading", "subscribe to read", "this article is for subscribers", "subscribers only", "to read the full story", "create a free account to continue",
			"register to continue reading", "already a subscriber? log in",
		},
	},
	{
		"the site shows only its cookie dialog",
		[]string{"before you continue"},
		[]string{"we value your privacy", "before you continue to", "accept all cookies", "manage your cookie preferences", "consent to the use of cookies", "accept cookies to continue"},
	},
	{
		"the site refuses access",
		[]string{"access denied", "403 forbidden", "request blocked", "request rejected", "you have been blocked"},
		[]string{"you don't have permission to access", "your access to this site has been limited", "sorry, you have been blocked", "request unsuccessful. incapsula"},
	},
}

// wallReason says what stands in front of the page, "" when nothing does.
func wallReason(title, text string, words int) string {
	if words >= 200 {
		return ""
	}
	title = strings.ToLower(strings.TrimSpace(title))
	text = strings.ToLower(text)
	for _, wall := range wallPhrases {
		for _, phrase := range wall.title {
			// A title that merely mentions the phrase ("How to log in") is longer.
			if strings.Contains(title, phrase) && words < 120 && len(title) < len(phrase)+35 && !strings.HasPrefix(title, "how ") {
				return wall.reason
			}
		}
		for _, phrase := range wall.text {
			if words < 90 && strings.Contains(text, phrase) {
				return wall.reason
			}
		}
	}
	return ""
}
