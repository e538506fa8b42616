import GRDB
import Hummingbird
import PowerSync
import PowerSyncBackend
import PowerSyncBackendHummingbird

// What the page "Writing a backend" shows, so that it compiles.

/// A user may write lists of their own, and todos in them.
func mayWrite(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
    switch write.entry.table {
    case "lists":
        // Whatever the client has written: the owner is who is signed in.
        var values = write.entry.data ?? [:]
        values["owner_id"] = .string(write.user.id)
        guard try write.belongsToUser(by: "owner_id", values: values, db) else {
            return .reject("The list belongs to somebody else.")
        }
        return .apply(values)
    case "todos":
        // The list that it is in, and the one that it goes to.
        var lists: [String?] = []
        if let todo = try write.storedRow(db) { lists.append(todo["list_id"]) }
        switch write.entry.data?["list_id"] {
        case nil where !lists.isEmpty || write.entry.op != .put: break
        case .string(let list): lists.append(list)
        // Not a number either: the column would make a text of it, which may be the id of a list.
        default: return .reject("A todo is in a list.")
        }
        // A todo that is in no list is nobody's.
        for list in lists {
            guard let list, try write.userOwns(list, in: "lists", by: "owner_id", db) else {
                return .reject("There is no such list of yours.")
            }
        }
        return .apply
    default:
        return .reject("Clients do not write to \(write.entry.table).")
    }
}

/// The routes for clients, beside those that the app has anyway.
func addRoutes(to router: Router<BasicRequestContext>, _ database: DatabasePool, key: String) throws {
    let applier = SQLiteUploadApplier(database, authorize: mayWrite)
    let signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: "https://sync.example.com")
    let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, context in
        try await signedInUser(request).map { BackendUser(id: $0) }
    }
    routes.add(to: router)
}

/// The session of the app; here a header says who it is.
func signedInUser(_ request: Request) async throws -> String? {
    request.headers[.cookie]
}

/// The app's session on the client.
protocol AppSession: Sendable {
    func syncToken() async throws -> String
}

func connector(_ session: any AppSession) throws -> HTTPBackendConnector {
    let connector = try HTTPBackendConnector(uploadURL: "https://api.example.com/upload") {
        // `POST /token`, with the app's own session.
        PowerSyncCredentials(endpoint: "https://sync.example.com", token: try await session.syncToken())
    }
    return connector
}

func makeKey() {
    print(SigningKey.es256(id: "2026-11").jwk)
}
