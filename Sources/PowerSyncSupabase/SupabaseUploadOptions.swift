public import PowerSync

/// What happens with a write that could not be uploaded.
public struct SupabaseTreatment: Sendable, Hashable, CustomStringConvertible {
    private enum Value: Sendable { case tryAgain, signInAgain, reject, skip }

    private let value: Value

    /// It is uploaded again later, and holds up those behind it.
    public static let tryAgain = SupabaseTreatment(value: .tryAgain)
    /// The token is renewed, and the write uploaded once more.
    public static let signInAgain = SupabaseTreatment(value: .signInAgain)
    /// It will never be accepted: `ConnectOptions.uploadRejectionPolicy` decides.
    public static let reject = SupabaseTreatment(value: .reject)
    /// It counts as uploaded, and the row gets the server's state with the next checkpoint.
    public static let skip = SupabaseTreatment(value: .skip)

    /// The name.
    public var description: String { "\(value)" }

    /// What happens without a word of the app.
    ///
    /// | | |
    /// | --- | --- |
    /// | 401; `PGRST300` to `PGRST303` | sign in again |
    /// | SQLSTATE of classes 22 (data) and 23 (constraints), 42501 (a policy forbids it), P0001 (a trigger raised it) | reject |
    /// | a single write that is too large (413, 414) | reject |
    /// | a row that is there and was not changed (``SupabaseError/Code/notChanged``) | reject |
    /// | a change of a row that is not there (``SupabaseError/Code/notFound``): another device has deleted it | skip |
    /// | everything else: no connection, 5xx, 408, 425, 429, deadlocks, a table or column that is not there yet | try again |
    ///
    /// A table or a column that is missing is no reason to lose writes: it may come with the next migration.
    ///
    /// Before that, a request with several rows that is too large (413, 414) is divided.
    ///
    /// - Parameter error: The error.
    /// - Returns: What happens.
    public static func usual(for error: SupabaseError) -> SupabaseTreatment {
        if error.code == .notChanged { return .reject }
        if error.code == .notFound { return .skip }
        // It would be as large the next time.
        if [413, 414].contains(error.httpStatus) { return .reject }
        let code = error.serverCode ?? ""
        if error.httpStatus == 401 || code.hasPrefix("PGRST30") { return .signInAgain }
        let isState = code.utf8.count == 5
        guard isState, code.hasPrefix("22") || code.hasPrefix("23") || code == "42501" || code == "P0001" else {
            return .tryAgain
        }
        return .reject
    }
}

/// How a ``SupabaseConnector`` uploads.
public struct SupabaseUploadOptions: Sendable {
    /// The schema of the tables; `nil` for the first one that the project shows, usually `public`.
    public var schema: String?
    /// The most rows of one request: 500, or fewer if they have more than 1 MiB.
    public var maximumRows = 500
    /// Decides about a write that could not be uploaded; `nil` leaves it to ``SupabaseTreatment/usual(for:)``.
    public var treatment: @Sendable (SupabaseError, CrudEntry) -> SupabaseTreatment? = { _, _ in nil }

    /// Creates the default options.
    public init() {}
}
