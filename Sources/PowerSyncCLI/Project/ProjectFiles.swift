import Foundation
import PowerSyncServiceCore

/// The files with which a service begins: configuration, sync config, sample rows, or for a server what makes them there.
struct ProjectFiles {
    /// A file and its text.
    struct File {
        /// Its path below the folder.
        let name: String
        let text: String
        /// Whether only its user reads it: it has a secret, or rows.
        var isPrivate = true
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

    /// Only the user of the process reads and writes a file, or others may read it, such as a service in a container.
    private static let (privateMode, publicMode): (mode_t, mode_t) = (0o600, 0o644)

    /// The port of the service.
    var port: Int
    /// The server that the service watches; `nil` for a file.
    var server: ServerStarter?
    /// The databases that there are.
    var modules = CommandModules.current
    /// A back end beside the service, if there is one.
    var backend: BackendFiles?
    /// What development tokens are signed with: 32 bytes.
    var secret: [UInt8]

    /// Grants access to the admin API and the dashboard: 32 bytes.
    var adminToken: [UInt8]

    /// Creates files with secrets of their own.
    init(port: Int, over server: ServerStarter? = nil) {
        self.port = port
        self.server = server
        secret = Self.randomBytes(32)
        adminToken = Self.randomBytes(32)
    }

    /// A password of its own for an account: 192 bits, with what rules of servers ask for.
    static func makePassword() -> String { "Ps1-" + encoded(randomBytes(24)) }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// All files, in the order in which people read them.
    var all: [File] {
        [
            File(name: "powersync.yaml", text: configuration), File(name: "sync.yaml", text: Self.syncConfig),
            server.map { File(name: "setup.sql", text: $0.setUp) } ?? File(name: "seed.sql", text: Self.seed),
            File(name: ".gitignore", text: "data/\n"),
        ] + (backend?.all ?? []) + Self.schemas(arePrivate: true)
    }

    /// The JSON Schemas that editors check the files with, for the user alone as all else in a folder of theirs, or not.
    static func schemas(arePrivate: Bool) -> [File] {
        SchemaCommand.File.allCases.map { File(name: schemaPath($0), text: $0.text, isPrivate: arePrivate) }
    }

    /// Where the JSON Schema of a file is.
    private static func schemaPath(_ file: SchemaCommand.File) -> String { ".powersync/\(file.rawValue).schema.json" }

    /// The first line of a file, for editors: what they complete and check it with.
    static func editorLine(_ file: SchemaCommand.File) -> String {
        "# yaml-language-server: $schema=\(schemaPath(file))"
    }

    /// Writes all files, or none.
    ///
    /// - Parameter folder: The folder, which is made if it is missing.
    /// - Throws: ``AlreadyThere``, or an error of the file system; then what was written is removed again.
    func write(to folder: URL) throws { try Self.write(all, to: folder) }

    /// Writes files, all of them or none; see ``write(to:)``.
    ///
    /// The first one says whether others than the user may list the folder.
    static func write(_ files: [File], to folder: URL) throws {
        let manager = FileManager.default
        let files = files.map { (file: $0, url: folder.appending(path: $0.name)) }
        let paths = files.map { $0.url.path(percentEncoded: false) }.filter { manager.fileExists(atPath: $0) }
        guard paths.isEmpty else { throw AlreadyThere(paths: paths) }
        let isShared = !(files.first?.file.isPrivate ?? true)
        for place in [folder] + files.map({ $0.url.deletingLastPathComponent() }) {
            try manager.createDirectory(
                at: place,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: isShared ? 0o755 : 0o700]
            )
        }
        var written: [URL] = []
        do {
            for (file, url) in files {
                try write(file, to: url)
                written.append(url)
            }
        } catch {
            for url in written { try? manager.removeItem(at: url) }
            _ = unsafe rmdir(folder.appending(path: ".powersync").path(percentEncoded: false))
            throw error
        }
    }

    /// Writes a file that was not there.
    private static func write(_ file: File, to url: URL) throws {
        let path = url.path(percentEncoded: false)
        // Somebody may have made one since.
        let mode = file.isPrivate ? privateMode : publicMode
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        // The umask may have taken bits away.
        fchmod(descriptor, mode)
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(file.text.utf8))
    }

    // MARK: Texts

    /// Bytes in Base64 for URLs.
    private static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static let tables = [
        "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT)",
        "CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER)",
    ]

    /// The entry of the source, with those that could be written instead.
    private var source: String {
        var lines: [String] = []
        if let server {
            lines.append("# The database that the service watches; setup.sql makes one.")
            lines += Self.item(server.keys)
        }
        for module in modules.sources {
            guard let keys = module.starter(tables: Self.tables), lines.isEmpty else { continue }
            let summary = (module.summary ?? module.type).firstUppercased
            let others = modules.sources.filter { $0.type != module.type }.map { $0.example }
            lines.append(
                "# \(summary) that the service watches. For an existing server: \(others.joined(separator: ", "))"
            )
            lines += Self.item(keys)
        }
        return lines.map { "    " + $0 }.joined(separator: "\n")
    }

    /// An item of a list in YAML.
    private static func item(_ keys: [String]) -> [String] {
        keys.enumerated().map { index, key in (index == 0 ? "- " : "  ") + key }
    }

    private var storage: String {
        let keys = modules.storages.lazy.compactMap { $0.starter }.first ?? []
        return keys.map { "  " + $0 }.joined(separator: "\n")
    }

    /// The key of the back end, as an item of the keys; empty without one.
    private var backendKey: String {
        guard let backend else { return "" }
        return """
                  # Of the back end: \(BackendFiles.folder)/signing-key.json has the private half.
                  - \(backend.publicKey)

            """
    }

    private var configuration: String {
        """
        \(Self.editorLine(.service))
        # A sync service. \(server == nil ? "For development: powersync dev. In production: " : "")powersync serve.
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
              - {kty: oct, alg: HS256, kid: dev, k: \(Self.encoded(secret))}
        \(backendKey)
        api:
          # For powersync status, the dashboard and the admin API. In production: !env PS_ADMIN_TOKEN.
          tokens: [\(Self.encoded(adminToken))]

        system:
          logging: {level: info, format: text}

        """
    }

    private static let syncConfig = """
        \(editorLine(.sync))
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
