import ArgumentParser

/// The options of `powersync generate` for other languages than Swift.
package struct ClientOutputOptions: ParsableArguments {
    @Option(help: "The file to write.", completion: .file())
    var output: String?

    @Flag(help: "Only check whether the file at --output is what would be generated.")
    var check = false

    @Option(name: .customLong("package"), help: "The package of the file, in Kotlin.")
    var packageName: String?

    package init() {}

    package func validate() throws {
        if check, output == nil { throw ValidationError("--check needs --output, the file that is checked") }
        guard let packageName else { return }
        guard packageName.wholeMatch(of: /[A-Za-z_]\w*(\.[A-Za-z_]\w*)*/) != nil else {
            throw ValidationError("--package needs the name of a package, not '\(packageName)'")
        }
    }

    /// The options as they stand in a command, without `--check`.
    var words: [String] {
        (output.map { ["--output", $0] } ?? []) + (packageName.map { ["--package", $0] } ?? [])
    }
}
