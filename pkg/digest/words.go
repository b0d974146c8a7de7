package digest

import (
	"strings"
	"sync"
)

// newSet makes a set of the words in list.
func newSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// stopWords carry no content in a question.
var stopWords = sync.OnceValue(func() map[string]bool {
	return newSet(`the a an of to in on for and or but is are was were be been being did do does doing done which what who
		whom whose when where why how many much with from by it its at as that this these those there here any no not nor than then into out if so
		because has had have having would could should can may might must will shall they them their he she his her you your we our us i me my
		all some each every both other another same such only also too very just about over under after before during while until since
		again once up down off per via etc one ones thing things anything something nothing anyone someone anybody somebody
		get gets got go goes went come comes came take takes took taken make makes made happen happened happens say says said saying tell tells told
		mean means meant seem seems seemed use uses used using able s t d ll re ve don doesn didn isn wasn weren won let
		log logs file files text output line lines please show shows shown give gives given report reports reported message messages according mention mentions mentioned
		many much most more least less first last long longest time times called name named exactly really actually ever yet now still already even own kind sort type
		between within without through across against among around toward towards upon`)
})

// weakWords are content, but seldom what tells the line apart.
var weakWords = sync.OnceValue(func() map[string]bool {
	return newSet(`machine system process program component part moment point try tried want wanted need needed
		run ran running right wrong new old see saw seen look set work works worked find found number amount value state status
		end start begin hit back asked whole entire certain particular specific different various stated listed contain contains exist exists
		cause caused reason result place way case test tests node nodes server error errors fail failed fails failure`)
})
