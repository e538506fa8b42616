import Crypto
import Foundation
import PowerSync
import PowerSyncTerminal

extension Demo {
    /// Step 5: a photo travels from A to B beside the database, and goes again.
    ///
    /// - Parameters:
    ///   - photoBackend: The base URL of the backend that signs URLs for photos.
    ///   - backend: The app's backend.
    /// - Throws: ``DemoFailure`` when something did not happen.
    func sharePhoto(through photoBackend: URL, backend: DemoBackend) async throws {
        try terminal.heading("5. A photo for a list of A, stored beside the database")
        let (anna, bert) = (anna, bert)
        let annasPhotos = anna.photos(through: photoBackend, backend: backend)
        // B keeps no file that nobody refers to.
        let bertsPhotos = bert.photos(through: photoBackend, backend: backend, archivedCacheLimit: 0)

        try await anna.database.disconnect()
        let content = Self.photo(bytes: 300_000)
        let photo = try await annasPhotos.saveFile(data: content, mediaType: "image/jpeg", fileExtension: "jpg") {
            transaction,
            photo in
            try transaction.execute(
                sql: "UPDATE lists SET photo_id = ? WHERE name = 'Groceries'",
                parameters: [photo.id]
            )
        }
        let saved = try await anna.photo(photo.id)
        try expect(saved?.state == .queuedUpload, "A's photo does not wait for its upload: \(saved, default: "no row")")
        let digest = Self.digest(content)
        try terminal.line("  saved offline by A: \(content.count.grouped) bytes, sha256 \(digest.prefix(16))…")

        try await anna.connect(to: backend)
        try await annasPhotos.startSync()
        try await bertsPhotos.startSync()
        try await anna.waitForPhoto(photo.id, toBe: .synced)
        try terminal.line("  uploaded by A, over a URL that the backend signed")
        try await bert.waitForPhoto(photo.id, toBe: .synced)
        let received = try await bert.photo(photo.id)
        let copy = try Data(contentsOf: URL(filePath: received?.localUri ?? ""))
        try expect(Self.digest(copy) == digest, "B's file differs: \(copy.count) bytes")
        try terminal.line("  downloaded by B: \(copy.count.grouped) bytes, sha256 \(Self.digest(copy).prefix(16))…")

        try await annasPhotos.deleteFile(attachmentId: photo.id) { transaction, photo in
            try transaction.execute(sql: "UPDATE lists SET photo_id = NULL WHERE photo_id = ?", parameters: [photo.id])
        }
        try await anna.waitForPhoto(photo.id, toBe: nil)
        try terminal.line("  deleted by A, from its device and from the storage")
        try await bert.waitForPhoto(photo.id, toBe: nil)
        for client in [anna, bert] {
            let files = try client.photoFiles()
            try expect(files.isEmpty, "\(client.name) still has the files \(files)")
        }
        try terminal.line("  archived and expired by B: no file is left on any device")
        for client in [anna, bert] { try await client.waitForEmptyQueue() }
        try await annasPhotos.close()
        try await bertsPhotos.close()
    }

    /// Random bytes that begin as a JPEG file does.
    private static func photo(bytes: Int) -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data([0xFF, 0xD8, 0xFF]) + Data((3..<bytes).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    private static func digest(_ data: Data) -> String {
        SHA256.hash(data: data).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
