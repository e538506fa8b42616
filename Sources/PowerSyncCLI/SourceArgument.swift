import Foundation
import PowerSyncServiceCore
import PowerSyncTerminal

/// `--source`: the database that a command reads, by the path of a file or by an address, in one of the forms of the modules.
enum SourceArgument {
    /// Reads an argument.
    ///
    /// - Parameters:
    ///   - argument: A path, an address, or `-` for an address on standard input.
    ///   - configured: The source of a service configuration, whose settings count that are no part of an address.
    /// - Returns: The source, which is not asked yet.
    /// - Throws: `UnreadableFile` for a file that is not there, or `ServiceError`, which never shows an address: it may have a password.
    static func read(_ argument: String, like configured: (any SourceModule)? = nil) throws -> any SourceModule {
        let isInput = argument == "-"
        let text = (isInput ? readLine() ?? "" : argument).withoutLineEnd
        guard let source = try CommandModules.current.source(named: text, like: configured) else {
            guard !isInput, !isAddress(text) else {
                throw UnreadableFile("--source names no database that this command can read; it takes \(forms)")
            }
            throw UnreadableFile("cannot read the source \(argument): there is no such file")
        }
        if !isInput, source.hasPassword {
            let places = type(of: source).argumentForm.passwordPlaces.map { "give it by \($0), or " } ?? ""
            printToStandardError(
                """
                note: other users of this machine can see the password of --source in the list of processes. Leave it out and \(places)\
                write --source - and give the address on standard input.
                """
            )
        }
        return source
    }

    /// Whether a text is an address, be it one that cannot be used, and no file.
    private static func isAddress(_ text: String) -> Bool {
        text.contains("://") || !FileManager.default.fileExists(atPath: text) && text.contains { "@=".contains($0) }
    }

    // MARK: Help

    /// What the option takes: `a SQLite file, or postgresql://…`.
    static var forms: String {
        CommandModules.current.argumentForms.map(\.form).joined(separator: ", or ")
    }

    /// Where passwords come from that are in no argument, as sentences with a space before each; empty without any.
    static var passwordPlaces: String {
        let places = CommandModules.current.argumentForms.compactMap(\.passwordPlaces)
        return places.isEmpty ? "" : " A password is taken from \(places.joined(separator: ", or "))."
    }

    /// A line of an example for each kind of source.
    ///
    /// - Parameter words: What is written before and after the argument.
    /// - Returns: The lines, indented by two spaces.
    static func examples(_ words: (before: String, after: String)) -> String {
        CommandModules.current.argumentForms.map { form in
            let variable = form.exampleVariable.map { "\($0) " } ?? ""
            return "  \(variable)powersync \(words.before) --source \(form.example)\(words.after)"
        }.joined(separator: "\n")
    }
}
