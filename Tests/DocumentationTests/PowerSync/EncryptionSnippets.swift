import Foundation
import PowerSync

func openWithAKey(_ schema: Schema, _ keychain: any AppKeychain) -> any PowerSyncDatabaseProtocol {
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "app.db",
        key: { try .bytes(keychain.databaseKey()) }
    )
    return database
}

func encryptWhatIsThere(_ keychain: any AppKeychain) async throws {
    try await DatabaseKey.change(ofFile: "app.db", from: nil, to: .bytes(keychain.databaseKey()))
}

/// The app's own encryption.
private func seal(_ text: String) throws -> Data {
    Data(text.utf8.reversed())
}

func writeWhatOnlyTheAppCanRead(_ text: String, _ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.execute(
        sql: "INSERT INTO notes (id, text) VALUES (uuid(), ?)",
        parameters: [try seal(text).base64EncodedString()]
    )
}

/// Where the app keeps its keys.
protocol AppKeychain: Sendable {
    func attachmentKey() async throws -> Data
    func databaseKey() throws -> Data
}

func show(_ chunk: Data) {}

func keepAttachmentsEncrypted(
    _ database: any PowerSyncDatabaseProtocol,
    _ keychain: any AppKeychain,
    _ transport: any AttachmentTransportAdapter,
    directory: String,
    references: @escaping @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
    path: String
) async throws -> AttachmentQueue {
    let storage = EncryptedStorageAdapter { try await keychain.attachmentKey() }
    let photos = AttachmentQueue(
        db: database,
        transport: transport,
        attachmentsDirectory: directory,
        watchAttachments: references,
        localStorage: storage
    )
    for try await chunk in try await storage.chunks(filePath: path) {
        show(chunk)
    }
    return photos
}
