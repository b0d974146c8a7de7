# Listens to rspec's reporter: one JSON line an example, one when the suite stops.
require 'json'

module LegworkProbe
  OUT = @REPORT@

  def self.write(event)
    File.open(OUT, 'a') { |f| f.puts(JSON.generate(event.merge(p: Process.pid))) }
  rescue StandardError
    nil
  end

  class Listener
    def example_started(n)
      LegworkProbe.write(e: 'open', id: n.example.full_description)
    end

    def example_passed(n)
      note(n, 'passed')
    end

    def example_failed(n)
      note(n, 'failed')
    end

    def example_pending(n)
      note(n, 'skipped')
    end

    def stop(_)
      LegworkProbe.write(e: 'finish')
    end

    private

    def note(n, outcome)
      LegworkProbe.write(e: 'test', id: n.example.full_description, o: outcome, f: n.example.file_path)
    end
  end
end

RSpec.configure do |c|
  LegworkProbe.write(e: 'start')
  c.before(:suite) do
    RSpec.configuration.reporter.register_listener(LegworkProbe::Listener.new, :example_started, :example_passed, :example_failed, :example_pending, :stop)
  end
end
