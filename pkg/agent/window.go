package agent

import "legwork/pkg/config"

// Window judges the window of a model for a session under the settings: an error when it cannot work, a note when it is
// tight. window is what is in force, most what the server can be asked for; 0 is unknown.
func Window(cfg *config.Config, model string, window, most int) (note string, err error) {
	if err := checkWindow(model, window, most, cfg.Agent.Tools); err != nil {
		return "", err
	}
	return windowNote(max(window, most)), nil
}
