import CLibPQ

/// What libpq and the server say is wrong, without values of rows.
extension LibPQ {
    /// Checks that libpq reads the string as it is meant, so that no part of a password is taken for something that messages show.
    ///
    /// - Throws: ``PostgresError`` that shows nothing of it.
    static func check(_ string: PostgresConnectionString) throws(PostgresError) {
        let isOptions = string.text.contains("=") || string.text.contains("://")
        guard isOptions, string.keywords == nil else { return }
        throw PostgresError(.connection, "The connection string cannot be read.", activity: "connecting")
    }

    /// What the connection says is wrong.
    func failure(_ activity: String) -> PostgresError {
        let message = unsafe PQerrorMessage(connection).map { unsafe String(cString: $0) } ?? "there is no memory"
        return PostgresError(.connection, Self.oneLine(message), activity: activity)
    }

    /// What a result says is wrong.
    func error(of result: OpaquePointer, _ activity: String) -> PostgresError? {
        switch unsafe PQresultStatus(result) {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: break
        default: return nil
        }
        func field(_ letter: Character) -> String? {
            unsafe PQresultErrorField(result, CInt(letter.asciiValue ?? 0)).map { unsafe String(cString: $0) }
        }
        // Only the primary message (M): details may have values of rows.
        guard let state = field("C"), let message = field("M") else { return failure(activity) }
        // The server's last words on a connection that it ends, or a pooler's: shutting down, crashed, told to, idle for too long.
        let isLost = ["FATAL", "PANIC"].contains(field("V") ?? field("S"))
        return PostgresError(
            isLost ? .connection : .server,
            Self.withoutValues(Self.oneLine(message), sqlState: state),
            sqlState: state,
            activity: activity
        )
    }

    /// A primary message without the value that it quotes, as all of the class for data do: `invalid input syntax for type
    /// integer: "…"`.
    ///
    /// What is between the first and the last mark goes: the value may have some of its own.
    static func withoutValues(_ message: String, sqlState: String) -> String {
        let scalars = message.unicodeScalars
        guard sqlState.hasPrefix("22"), let first = scalars.firstIndex(where: { quotationMarks.contains($0) }),
            let last = scalars.lastIndex(where: { quotationMarks.contains($0) })
        else { return message }
        let end = first < last ? String(scalars[last...]) : ""
        return "\(String(scalars[...first]))…\(end)"
    }

    /// Those of the languages that servers speak.
    private static let quotationMarks: Set<Unicode.Scalar> = ["\"", "«", "»", "“", "”", "„"]

    /// A message of several lines as one.
    ///
    /// It has no password: libpq shows none, the server never gets one that it could show, and ``check(_:)`` keeps parts of one out of
    /// names. Nothing is searched for: a name may be the same text as the password, and what is missing would tell it.
    private static func oneLine(_ message: String) -> String {
        message.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
