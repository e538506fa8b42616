import Foundation
import Observation
import PowerSync

/// One device of a user: its database, its photos, its screen.
@MainActor
@Observable
final class Device {
    let account: Account
    let database: any PowerSyncDatabaseProtocol
    let photos: AttachmentQueue
    let screen: TodoScreen
    let status: ObservableSyncStatus
    private var isOnline = false
    /// What was wrong with the last command.
    var note = ""

    init(_ account: Account, folder: URL) throws {
        self.account = account
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = PowerSyncDatabase(
            schema: schema,
            dbFilename: folder.appending(path: "todos.db").path(percentEncoded: false),
            logger: DefaultLogger(minSeverity: .fault)
        )
        photos = account.photos(of: database, in: folder.appending(path: "photos"))
        screen = TodoScreen(database)
        status = .of(database)
    }

    func connect() async throws {
        isOnline = true
        try await database.connect(connector: try account.connector(), options: nil)
        try await photos.startSync()
    }

    func disconnect() async throws {
        isOnline = false
        try await photos.stopSyncing()
        try await database.disconnect()
    }

    /// Does what somebody typed; `false` at the end.
    func run(_ command: Command) async throws -> Bool {
        switch command {
        case .add(let title): try await screen.add(title)
        case .toggle(let number): try await screen.toggle(try todo(number))
        case .delete(let number): try await screen.delete(try todo(number))
        case .photo(let number, let path): try await addPhoto(path, to: try todo(number))
        case .list(let name): try await screen.open(name)
        case .offline: try await disconnect()
        case .online: try await connect()
        case .wait(let text): try await wait(for: text)
        case .upload: try await waitForUploads()
        case .quit: return false
        }
        return true
    }

    func close() async throws {
        try await photos.close()
        try await database.close()
    }

    private func todo(_ number: Int) throws -> ShownTodo {
        guard screen.todos.rows.indices.contains(number - 1) else { throw Mistake("There is no todo \(number).") }
        return screen.todos.rows[number - 1]
    }

    private func addPhoto(_ path: String, to todo: ShownTodo) async throws {
        let data = try Data(contentsOf: URL(filePath: path))
        try await photos.saveFile(data: data, mediaType: "image/jpeg", fileExtension: "jpg") { transaction, photo in
            try transaction.execute(
                sql: "UPDATE todos SET photo_id = ? WHERE id = ?",
                parameters: [photo.id, todo.id]
            )
        }
    }

    private func wait(for text: String) async throws {
        _ = await Observed.first({ self.text }, where: { $0.contains(text) })
    }

    private func waitForUploads() async throws {
        for try await entries in try database.watch("SELECT count(*) FROM ps_crud", as: Int.self) where entries == [0] {
            return
        }
    }

    // MARK: - The text on the screen

    var text: String {
        let lists = screen.lists.rows.map { $0.id == screen.list?.id ? "[\($0.name)]" : $0.name }
        let todos = screen.todos.rows.enumerated().map { index, todo in
            let photo = todo.photo_id.map { _ in todo.photo_size.map { "  (photo, \($0) bytes)" } ?? "  (photo …)" }
            return "  \(index + 1) \(todo.done ? "[x]" : "[ ]") \(todo.title)\(photo ?? "")"
        }
        return (["\(account.user): \(lists.joined(separator: " "))"] + todos + [connection]).joined(separator: "\n")
    }

    /// What the connection does, or waits for.
    private var connection: String {
        guard isOnline else { return "offline" }
        let waits = [status.activity.download, status.activity.upload].compactMap { $0.map { "\($0)" } }
        if !waits.isEmpty { return waits.joined(separator: "; ") }
        return status.connected ? "everything is synced" : "connecting"
    }
}
