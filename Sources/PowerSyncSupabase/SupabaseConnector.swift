import Foundation
public import PowerSync

/// A connector for a project of Supabase: its sign-in is that of the sync service, and local writes go to its tables through PostgREST.
///
/// ```swift
/// let connector = SupabaseConnector(auth: auth, syncURL: "https://sync.example.com")
/// try await database.connect(connector: connector, options: ConnectOptions(uploadRejectionPolicy: .park))
/// ```
///
/// A write goes to the table of its name, whose primary key is `id`: a row is inserted or replaced in the columns that it has (`PUT`),
/// changed (`PATCH`), or deleted. What a user may do is decided by the policies of the tables. Writes of one kind in a row are one request.
/// PostgREST has no transactions over several requests: a transaction that fails in its middle is uploaded again from its beginning, which
/// changes nothing twice.
///
/// PostgREST answers a change that a policy hides from its row as if all was well. So the changed rows are counted, and where some are
/// missing, their ids are asked for: a row that is there, and was not changed, is ``SupabaseError/Code/notChanged``; one that is not there
/// is ``SupabaseError/Code/notFound`` for a `PATCH`, and what was wanted for a `DELETE`. A row that the user may not read is not there.
///
/// ``SupabaseTreatment/usual(for:)`` says what happens with a write that is refused, and ``SupabaseUploadOptions/treatment`` changes it.
public final class SupabaseConnector: PowerSyncBackendConnectorProtocol {
    private let auth: SupabaseAuth
    private let syncURL: String
    private let options: SupabaseUploadOptions

    /// Creates a connector.
    ///
    /// - Parameters:
    ///   - auth: Who is signed in.
    ///   - syncURL: The address of the sync service, which checks the tokens of the project.
    ///   - options: How it uploads.
    public init(auth: SupabaseAuth, syncURL: String, options: SupabaseUploadOptions = SupabaseUploadOptions()) {
        self.auth = auth
        self.syncURL = syncURL
        self.options = options
    }

    /// The token of the session, renewed if its time is over, or if the service got it before and asks again.
    ///
    /// - Returns: `nil` when no user is signed in.
    /// - Throws: ``SupabaseError``
    public func fetchCredentials() async throws -> PowerSyncCredentials? {
        do {
            return PowerSyncCredentials(endpoint: syncURL, token: try await auth.tokenForSync())
        } catch let error as SupabaseError where error.code == .signedOut {
            return nil
        }
    }

    /// Uploads the oldest transaction of the queue.
    ///
    /// - Parameter database: The database that is connected.
    /// - Throws: `UploadRejectionError` for a write that will never be accepted, ``SupabaseError`` for everything that is tried again
    public func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let damaged = transaction.crud.filter { $0.damage != nil }
        guard damaged.isEmpty else {
            throw UploadRejectionError(damaged.map { UploadRejection($0, reason: $0.damage?.reason ?? "") })
        }
        let requests = SupabaseRequest.requests(for: transaction.crud, maximumRows: max(1, options.maximumRows))
        for request in requests {
            let rejections = try await upload(request)
            guard rejections.isEmpty else { throw UploadRejectionError(rejections) }
        }
        try await transaction.complete()
    }

    /// Uploads the writes of a request.
    ///
    /// - Returns: Those of them that are rejected; the others were uploaded.
    private func upload(_ request: SupabaseRequest) async throws -> [UploadRejection] {
        var token = try await auth.accessToken()
        var isRenewed = false
        while true {
            do {
                try await send(request, token)
                return []
            } catch let error as SupabaseError {
                if [413, 414].contains(error.httpStatus), request.entries.count > 1 {
                    return try await upload(request.halves)
                }
                let entry = request.entries[0]
                switch options.treatment(error, entry) ?? .usual(for: error) {
                case .signInAgain where !isRenewed:
                    token = try await auth.accessToken(replacing: token)
                    isRenewed = true
                case .reject:
                    // One of them is refused, and with it all of the request.
                    guard request.entries.count == 1 else { return try await upload(request.single) }
                    return [UploadRejection(entry, reason: error.description)]
                case .skip:
                    guard request.entries.count == 1 else { return try await upload(request.single) }
                    return []
                default: throw error
                }
            }
        }
    }

    private func upload(_ requests: [SupabaseRequest]) async throws -> [UploadRejection] {
        var rejections: [UploadRejection] = []
        for request in requests { rejections += try await upload(request) }
        return rejections
    }

    private func send(_ request: SupabaseRequest, _ token: String) async throws {
        var headers = ["Prefer": request.preference]
        if let schema = options.schema { headers["Content-Profile"] = schema }
        let address = try auth.project.address(["rest", "v1", request.entries[0].table], query: request.query)
        let rows = request.rows
        let answer = try await auth.project.answer(
            request.method,
            address,
            token: token,
            headers: headers,
            json: request.method == "PATCH" ? rows?.first : rows
        )
        // `0-0/1`, `*/3`: the rows that were changed. A server that does not count them is believed.
        let changed = answer.header("Content-Range")?.split(separator: "/").last.flatMap { Int($0) }
        guard request.isCounted, let changed, changed < request.entries.count else { return }
        try await look(for: request, token)
    }

    /// Asks for the rows of a request that has changed fewer than it names.
    ///
    /// - Throws: ``SupabaseError`` with the codes ``SupabaseError/Code/notChanged`` and ``SupabaseError/Code/notFound``.
    private func look(for request: SupabaseRequest, _ token: String) async throws {
        let entry = request.entries[0]
        let address = try auth.project.address(["rest", "v1", entry.table], query: request.existenceQuery)
        let headers = options.schema.map { ["Accept-Profile": $0] } ?? [:]
        let body = try await auth.project.send("GET", address, token: token, headers: headers)
        guard let rows = try? JSONDecoder().decode([JsonParam].self, from: body) else {
            throw SupabaseError(.unexpectedResponse, "\(entry.table) was asked for rows and did not answer with them")
        }
        let name = "\(entry.op.rawValue) \(entry.table)/\(entry.id)"
        if !rows.isEmpty {
            throw SupabaseError(.notChanged, "\(name): a policy or a trigger of the table has kept the row as it was")
        }
        if entry.op == .patch { throw SupabaseError(.notFound, "\(name): the row is not there, or may not be read") }
    }
}
