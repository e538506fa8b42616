import Foundation
import PowerSync
import PowerSyncSupabase

/// Where the app keeps its session.
protocol AppSessionKeychain: Sendable {
    var session: SupabaseSession? { get }
    func keep(_ session: SupabaseSession?)
}

func connectToAProject(
    _ database: any PowerSyncDatabaseProtocol,
    _ keychain: any AppSessionKeychain,
    projectURL: URL,
    publishableKey: String,
    email: String,
    password: String
) async throws {
    let project = SupabaseProject(url: projectURL, apiKey: publishableKey)
    let auth = SupabaseAuth(project, session: keychain.session) { session in keychain.keep(session) }
    if await auth.session == nil {
        try await auth.signIn(email: email, password: password)
    }
    let connector = SupabaseConnector(auth: auth, syncURL: "https://sync.example.com")
    try await database.connect(connector: connector, options: ConnectOptions(uploadRejectionPolicy: .park))
}

func decideByCodes() -> SupabaseUploadOptions {
    var options = SupabaseUploadOptions()
    options.treatment = { error, entry in
        switch error.serverCode {
        case "42703", "PGRST204": .reject
        case "23505" where entry.table == "tags": .tryAgain
        default: nil
        }
    }
    return options
}

func keepPhotosInABucket(_ auth: SupabaseAuth, userID: String) -> SupabaseAttachmentTransport {
    let transport = SupabaseAttachmentTransport(auth: auth, bucket: "photos") { "\(userID)/\($0.filename)" }
    return transport
}
