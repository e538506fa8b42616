import Foundation

/// What a worker process does; its only argument, as JSON.
package struct WorkerTask: Codable, Sendable {
    /// The kinds of work.
    package enum Kind: String, Codable, Sendable {
        /// Opens the file and ends.
        case open
        /// Commits ``WorkerTransaction``s, and prints the number of each.
        case write
        /// Applies ``WorkerSchema/second`` and ``WorkerSchema/first`` in turn, and prints a line after each.
        case changeSchema
        /// Syncs with ``service``, commits a ``WorkerRow`` now and then, and prints the number of each.
        case sync
        /// Waits until somebody else has synced the file, and prints ``Line/synced``.
        case waitForSync
        /// Saves, links, unlinks, deletes, expires and clears files; see ``WorkerAttachments``.
        case attachments
        /// Uploads the file ``path`` in parts; see ``WorkerParts``.
        case uploadParts
        /// Changes the key of the file ``path``; see ``keyChange``.
        case changeKey
        /// Opens the file ``path`` as a copy of a seed; see ``seeding``.
        case seed
        /// Makes a seed at ``path``; see ``seedMaking``.
        case makeSeed
        /// Changes the direct tables of the file ``path``; see ``alteration``.
        case alterTables
    }

    /// What the worker says before it says numbers.
    package enum Line {
        /// The process runs.
        package static let started = "started"
        /// The file is open.
        package static let open = "open"
        /// Precedes the code of the SQLite error that ended the work.
        package static let failed = "failed "
        /// Buckets of the highest priority have been published, or everything for ``Kind/waitForSync``.
        package static let synced = "synced"
        /// Precedes the id of the last entry of the upload queue that is known to be completed.
        package static let completed = "completed "
        /// Precedes by how many bytes the memory of the process has grown, once a file is uploaded.
        package static let uploaded = "uploaded "
    }

    /// What is done.
    package var kind: Kind
    /// The database file.
    package var path: String
    /// Tells the rows of several workers apart.
    package var name = "w"
    /// How often it is done; `nil` means until the process is killed.
    package var count: Int?
    /// Whether the work begins only when a line comes in.
    package var waits = false
    /// The size in bytes that no file may grow beyond, as if the disk failed there.
    package var fileSizeLimit: UInt?
    /// The bytes that SQLite may have, in the whole process.
    package var memoryLimit: Int?

    /// The URL of the service to sync with, and of the backend.
    package var service: String?
    /// Whether `items` is a direct table, for ``Kind/sync``.
    package var isDirect = false
    /// The number of the first row that is written.
    package var firstNumber = 1
    /// The directory of the files, for ``Kind/attachments``.
    package var filesPath: String?
    /// How a file is uploaded, for ``Kind/uploadParts``.
    package var parts: WorkerParts?
    /// The size of a part.
    package var partSize: Int64 = 100_000
    /// How the key of a file is changed, for ``Kind/changeKey``.
    package var keyChange: WorkerKeyChange?
    /// How a file is seeded, for ``Kind/seed``.
    package var seeding: WorkerSeeding?
    /// How a seed is made, for ``Kind/makeSeed``.
    package var seedMaking: WorkerSeedMaking?
    /// How direct tables are changed, for ``Kind/alterTables``.
    package var alteration: WorkerAlteration?
    /// Where the worker kills itself; `nil` for nowhere.
    package var death: AttachmentDeath?

    /// Creates a task.
    package init(_ kind: Kind, path: String) {
        self.kind = kind
        self.path = path
    }

    /// The task as an argument of the process.
    package func argument() throws -> String {
        String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    }

    /// The task of an argument.
    package init(argument: String) throws {
        self = try JSONDecoder().decode(WorkerTask.self, from: Data(argument.utf8))
    }
}
