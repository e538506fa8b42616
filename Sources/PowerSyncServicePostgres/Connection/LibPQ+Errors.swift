import CLibPQ

/// What libpq and the server say is wrong, without passwords and values of rows.
extension LibPQ {
    /// The passwords that no message may have.
    static func secrets(of string: PostgresConnectionString) throws -> [String] {
        let isOptions = string.text.contains("=") || string.text.contains("://")
        guard isOptions else { return [] }
        guard let options = PQconninfoParse(string.text, nil) else {
            // libpq's message would have parts of the string.
            throw PostgresError(.connection, "The connection string cannot be read.", activity: "connecting")
        }
        defer { PQconninfoFree(options) }
        var secrets: [String] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, ["password", "sslpassword"].contains(String(cString: keyword)) {
                secrets.append(String(cString: value))
            }
            option += 1
        }
        return secrets
    }

    /// What the connection says is wrong.
    func failure(_ activity: String) -> PostgresError {
        let message = PQerrorMessage(connection).map { String(cString: $0) } ?? "there is no memory"
        return PostgresError(.connection, withoutSecrets(message), activity: activity)
    }

    /// What a result says is wrong.
    func error(of result: OpaquePointer, _ activity: String) -> PostgresError? {
        switch PQresultStatus(result) {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: break
        default: return nil
        }
        func field(_ letter: Character) -> String? {
            PQresultErrorField(result, CInt(letter.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // Only the primary message (M): details may have values of rows.
        guard let state = field("C"), let message = field("M") else { return failure(activity) }
        // The server's last words on a connection that it ends, or a pooler's: shutting down, crashed, told to, idle for too long.
        let isLost = ["FATAL", "PANIC"].contains(field("V") ?? field("S"))
        return PostgresError(
            isLost ? .connection : .server,
            withoutSecrets(message),
            sqlState: state,
            activity: activity
        )
    }

    private func withoutSecrets(_ message: String) -> String {
        let text = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        return secrets.filter { !$0.isEmpty }.reduce(text) { text, secret in
            text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "(secret)")
        }
    }
}
