import ArgumentParser

/// The options of `powersync generate swift` that say what is made, and where it goes.
package struct SwiftOutputOptions: ParsableArguments {
    @Option(help: "The file to write.", completion: .file(extensions: ["swift"]))
    var output: String?

    @Flag(help: "Only check whether the file at --output is what would be generated.")
    var check = false

    @Option(help: "The name of the type that everything is in.")
    var namespace = SwiftSource.Options().namespace

    @Option(help: "Who may use what is generated: internal, package or public.")
    var access: SwiftSource.Access = .internal

    @Flag(help: "Read timestamps as Date, rather than as the text that came.")
    var dates = false

    package init() {}

    package func validate() throws {
        if check, output == nil { throw ValidationError("--check needs --output, the file that is checked") }
        guard SwiftName.isIdentifier(namespace) else {
            throw ValidationError("--namespace needs the name of a type, not '\(namespace)'")
        }
    }

    /// The options as they stand in a command, without `--check`.
    var words: [String] {
        let defaults = SwiftSource.Options()
        var words: [String] = []
        if let output { words += ["--output", output] }
        if namespace != defaults.namespace { words += ["--namespace", namespace] }
        if access != defaults.access { words += ["--access", access.rawValue] }
        if dates { words.append("--dates") }
        return words
    }
}

extension SwiftSource.Access: ExpressibleByArgument {}
