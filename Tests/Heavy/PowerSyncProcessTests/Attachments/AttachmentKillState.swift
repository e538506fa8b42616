import Foundation
import LocalDatabaseWorker
import PowerSync
import Testing

/// What the killed workers have said, and what must hold for their files.
struct AttachmentKillState {
    private let directory: URL
    private let files: AttachmentFiles
    /// Files that are saved, and still referenced.
    private var saved: Set<String> = []
    /// Files that are deleted, and whose remote copies must go.
    private var deleted: Set<String> = []

    init(directory: URL) {
        self.directory = directory
        files = AttachmentFiles(path: directory.path)
    }

    /// Takes in what a worker has said.
    mutating func read(_ lines: [String]) {
        for line in lines {
            if line == WorkerAttachments.Line.clearing {
                // Deletions that wait are forgotten with their rows.
                (saved, deleted) = ([], [])
            } else if let id = id(line, WorkerAttachments.Line.saved) {
                saved.insert(id)
            } else if let id = id(line, WorkerAttachments.Line.dropping) {
                saved.remove(id)
            } else if let id = id(line, WorkerAttachments.Line.deleted) {
                deleted.insert(id)
            }
        }
    }

    private func id(_ line: String, _ prefix: String) -> String? {
        line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : nil
    }

    /// Checks the files as they are, lets a queue repair and finish everything, and checks again.
    func check() async throws {
        try checkLocalFiles()
        let database = PowerSyncDatabase(
            schema: WorkerAttachments.schema,
            dbFilename: directory.appending(path: "a.db").path,
            logger: DefaultLogger(writers: [])
        )
        let references = try await database.getAll("SELECT file_id FROM photos") { try $0.getString(index: 0) }
        #expect(saved.isSubset(of: references))
        try await checkRows(database)

        // Its start finds what the worker has left, parts of downloads included.
        let queue = files.queue(database, aging: 8 * 86_400)
        try await queue.waitForInit()
        try await checkRows(database)
        try checkLocalFiles()
        try await queue.startSync()
        for try await work in try database.watch(WorkerAttachments.remainingWork, mapper: { try $0.getInt(index: 0) }) {
            if work == [0] { break }
        }
        try await queue.close()

        for id in references { try checkReference(id) }
        for id in deleted {
            #expect(files.remoteContent(of: id) == nil, "\(id) is still in the remote storage")
            #expect(!FileManager.default.fileExists(atPath: localPath(id)), "\(id) is still on this device")
        }
        try checkLocalFiles()
        #expect(try localNames().filter { $0.hasSuffix(".pstmp") } == [])
        try await database.close()
    }

    private func checkReference(_ id: String) throws {
        let content = AttachmentFiles.content(of: id)
        #expect(files.remoteContent(of: id) == content, "the remote file of \(id)")
        #expect(FileManager.default.contents(atPath: localPath(id)) == content, "the local file of \(id)")
    }

    /// A reference that the worker has not committed with its file would be looked for in vain: the file must be here or
    /// there.
    private func checkRows(_ database: any PowerSyncDatabaseProtocol) async throws {
        let rows = try await database.getAll("SELECT * FROM attachments", mapper: PowerSync.Attachment.fromCursor)
        for row in rows where row.state == .queuedUpload {
            #expect(row.localUri == localPath(row.id))
            #expect(FileManager.default.contents(atPath: localPath(row.id)) == AttachmentFiles.content(of: row.id))
        }
        let waiting = Set(rows.filter { $0.state == .queuedUpload }.map(\.id))
        let references = try await database.getAll("SELECT file_id FROM photos") { try $0.getString(index: 0) }
        for id in references where !waiting.contains(id) {
            #expect(files.remoteContent(of: id) == AttachmentFiles.content(of: id), "\(id) is neither here nor there")
        }
    }

    /// No file has its name before it is complete.
    private func checkLocalFiles() throws {
        for name in try localNames() where name.hasSuffix(".bin") {
            let content = FileManager.default.contents(atPath: "\(files.local)/\(name)")
            #expect(content == AttachmentFiles.content(of: String(name.dropLast(4))), "\(name) is not complete")
        }
    }

    private func localNames() throws -> [String] {
        guard FileManager.default.fileExists(atPath: files.local) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: files.local)
    }

    private func localPath(_ id: String) -> String { "\(files.local)/\(AttachmentFiles.filename(of: id))" }
}
