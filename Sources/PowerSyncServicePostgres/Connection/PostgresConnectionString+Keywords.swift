import CLibPQ

/// The keywords of libpq, such as `host` and `sslmode`, and their values.
extension PostgresConnectionString {
    /// Creates a connection string of keywords.
    ///
    /// ```
    /// host='db.example.com' password='it\'s a \\ secret'
    /// ```
    ///
    /// - Parameter keywords: Names and values, in any order; of a name that is there twice, the last value counts.
    package init(keywords: [(name: String, value: String)]) {
        self.init(keywords.map { "\($0.name)=\(Self.quoted($0.value))" }.joined(separator: " "))
    }

    /// Takes a connection string apart, be it a URI or `keyword=value` pairs.
    ///
    /// - Returns: The keywords that are given, in the order of libpq; `nil` when libpq cannot read the text, or might take a part of the
    ///   password for a host. libpq is not asked why: its messages have parts of the text. ``problem`` says it.
    package var keywords: [(name: String, value: String)]? {
        guard !isAmbiguous, let options = unsafe PQconninfoParse(text, nil) else { return nil }
        defer { unsafe PQconninfoFree(options) }
        var keywords: [(name: String, value: String)] = []
        var option = unsafe options
        while let name = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe keywords.append((name: String(cString: name), value: String(cString: value)))
            }
            unsafe option += 1
        }
        return keywords
    }

    /// How long connecting may take: the keyword `connect_timeout`, in seconds; 0 and less are as if it was not there.
    var connectTimeout: Duration? {
        guard let text = keywords?.first(where: { $0.name == "connect_timeout" })?.value, let seconds = Int32(text),
            seconds > 0
        else { return nil }
        return .seconds(seconds)
    }

    private static func quoted(_ value: String) -> String {
        "'\(PostgresText.escaped(value.unicodeScalars, "'", "\\", with: "\\"))'"
    }
}
