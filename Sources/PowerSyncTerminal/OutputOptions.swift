import ArgumentParser

/// How a command prints what it found.
package enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    /// Lines for people.
    case text
    /// JSON for tools.
    case json
}

/// The options of every command that prints for people or for tools: `--format text`, `--format json`, and `--json`.
package struct OutputOptions: ParsableArguments {
    @Option(name: .customLong("format"), help: "Print text, or JSON.")
    private var chosen: OutputFormat = .text

    @Flag(name: .customLong("json"), help: "The same as --format json.")
    private var isJSON = false

    /// Creates the options.
    package init() {}

    /// How to print.
    package var format: OutputFormat { isJSON ? .json : chosen }
}
