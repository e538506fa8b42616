import Foundation
import PowerSyncTerminal
import PowerSyncService

/// `--source`: a SQLite database, or the address of a PostgreSQL database.
enum SourceArgument {
    /// A file.
    case file(String)
    /// A server, which is not asked yet.
    case postgres(PostgresSettings)

    /// Reads an argument: a path, an address of libpq, or `-` for an address on standard input.
    ///
    /// - Throws: `UnreadableFile` for a file that is not there, or `ServiceError`, which never shows an address: it may have a password.
    init(_ argument: String) throws {
        if argument == "-" || Self.isAddress(argument) {
            self = .postgres(try Self.settings(argument))
        } else if FileManager.default.fileExists(atPath: argument) {
            self = .file(argument)
        } else {
            throw UnreadableFile("cannot read the source \(argument): there is no such file")
        }
    }

    /// The settings of an address, or of `-` for one on standard input.
    ///
    /// - Throws: `ServiceError`, which never shows the address.
    static func settings(_ argument: String) throws -> PostgresSettings {
        let isInput = argument == "-"
        var settings = PostgresSettings(uri: (isInput ? readLine() ?? "" : argument).withoutLineEnd)
        settings.key = "--source"
        _ = try settings.connectionString()
        if !isInput, settings.hasPassword {
            printToStandardError(
                """
                note: other users of this machine can see the password of --source in the list of processes. Leave it out and set PGPASSWORD, \
                keep it in ~/.pgpass, or write --source - and give the address on standard input.
                """
            )
        }
        return settings
    }

    /// Whether a text is an address, be it one that cannot be used, and no file.
    static func isAddress(_ text: String) -> Bool {
        text.contains("://") || !FileManager.default.fileExists(atPath: text) && text.contains { "@=".contains($0) }
    }
}
