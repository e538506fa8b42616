import Foundation
import PowerSyncServiceCore

/// The files with which a service begins: configuration, sync config, sample rows.
struct ProjectFiles {
    /// A file and its text.
    struct File {
        let name: String
        let text: String
    }

    /// Files that are there already, and are not overwritten.
    struct AlreadyThere: Error, CustomStringConvertible {
        let paths: [String]

        var description: String {
            """
            Nothing was written, because there is already \(paths.formatted(.list(type: .and))). Choose another folder: \
            powersync init my-app
            """
        }
    }

    /// Only the user of the process reads and writes a file.
    private static let fileMode: mode_t = 0o600
    /// Only the user of the process lists and changes a folder.
    private static let folderMode = 0o700

    /// The port of the service.
    var port: Int
    /// The databases that there are.
    var modules = CommandModules.current
    /// What development tokens are signed with: 32 bytes.
    var secret: [UInt8]

    /// Creates files with a secret of their own.
    init(port: Int) {
        self.port = port
        var random = SystemRandomNumberGenerator()
        secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// All files, in the order in which people read them.
    var all: [File] {
        [
            File(name: "powersync.yaml", text: configuration), File(name: "sync.yaml", text: Self.syncConfig),
            File(name: "seed.sql", text: Self.seed), File(name: ".gitignore", text: "data/\n"),
        ]
    }

    /// Writes all files, or none.
    ///
    /// - Parameter folder: The folder, which is made if it is missing.
    /// - Throws: ``AlreadyThere``, or an error of the file system; then what was written is removed again.
    func write(to folder: URL) throws {
        let manager = FileManager.default
        let files = all.map { (file: $0, url: folder.appending(path: $0.name)) }
        let paths = files.map { $0.url.path(percentEncoded: false) }.filter { manager.fileExists(atPath: $0) }
        guard paths.isEmpty else { throw AlreadyThere(paths: paths) }
        try manager.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: Self.folderMode]
        )
        var written: [URL] = []
        do {
            for (file, url) in files {
                try write(file, to: url)
                written.append(url)
            }
        } catch {
            for url in written { try? manager.removeItem(at: url) }
            throw error
        }
    }

    /// Writes a file that nobody else can read: in one is a secret, in another there are rows.
    private func write(_ file: File, to url: URL) throws {
        let path = url.path(percentEncoded: false)
        // Somebody may have made one since.
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, Self.fileMode)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        // The umask may have taken bits away.
        fchmod(descriptor, Self.fileMode)
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(file.text.utf8))
    }

    // MARK: Texts

    private var encodedSecret: String {
        Data(secret).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static let tables = [
        "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT)",
        "CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER)",
    ]

    /// The entry of the source, with those that could be written instead.
    private var source: String {
        var lines: [String] = []
        for module in modules.sources {
            guard let keys = module.starter(tables: Self.tables), lines.isEmpty else { continue }
            let summary = (module.summary ?? module.type).firstUppercased
            let others = modules.sources.filter { $0.type != module.type }.map { $0.example }
            lines.append(
                "# \(summary) that the service watches. For an existing server: \(others.joined(separator: ", "))"
            )
            lines += keys.enumerated().map { index, key in (index == 0 ? "- " : "  ") + key }
        }
        return lines.map { "    " + $0 }.joined(separator: "\n")
    }

    private var storage: String {
        let keys = modules.storages.lazy.compactMap { $0.starter }.first ?? []
        return keys.map { "  " + $0 }.joined(separator: "\n")
    }

    private var configuration: String {
        """
        # A sync service. For development: powersync dev. In production: powersync serve.
        # Paths are relative to this file. Everything the service keeps is in data/; delete that folder to start again.
        replication:
          connections:
        \(source)

        storage:
        \(storage)

        sync_config:
          path: sync.yaml

        host: 127.0.0.1
        port: \(port)

        client_auth:
          audience: [powersync-dev]
          jwks:
            keys:
              # For development only: whoever knows it can be any user. In production: jwks_uri of your identity provider.
              - {kty: oct, alg: HS256, kid: dev, k: \(encodedSecret)}

        system:
          logging: {level: info, format: text}

        """
    }

    private static let syncConfig = """
        # Who gets which rows. `powersync dev` takes up changes as you save them; `powersync validate sync.yaml` checks them.
        config: {edition: 3}

        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()

          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())

        """

    private static let seed = """
        -- Rows to begin with: `powersync dev` runs this when the tables of the source are empty.
        INSERT INTO lists(id, owner_id, name) VALUES
            ('groceries', 'user-1', 'Groceries'),
            ('work', 'user-2', 'Work');
        INSERT INTO todos(id, list_id, title, done) VALUES
            ('milk', 'groceries', 'Milk', 0),
            ('bread', 'groceries', 'Bread', 1),
            ('report', 'work', 'Write the report', 0);

        """
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var firstUppercased: String { prefix(1).uppercased() + dropFirst() }
}
