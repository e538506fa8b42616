import PowerSyncProtocol

/// The kinds of databases that a service knows.
///
/// The order is that of messages.
package struct Modules: Sendable {
    /// The kinds of sources.
    package var sources: [any SourceModule.Type]
    /// The kinds of storages.
    package var storages: [any StorageModule.Type]
    /// Types of sources and storages of the established service's files that are not among ``sources`` and ``storages``.
    package var unavailableTypes: Set<String>

    /// Creates a list.
    package init(
        sources: [any SourceModule.Type],
        storages: [any StorageModule.Type],
        unavailableTypes: Set<String> = []
    ) {
        self.sources = sources
        self.storages = storages
        self.unavailableTypes = unavailableTypes
    }

    /// The types of sources of which several processes may share one, in quotes: `"a" or "b"`.
    package var sharedSources: String { Self.alternatives(sources.filter { $0.sharing == .anyNumber }.map { $0.type }) }

    /// The types of storages that several processes may share, as ``sharedSources``.
    package var sharedStorages: String {
        Self.alternatives(storages.filter { $0.sharing == .anyNumber }.map { $0.type })
    }

    /// The types of sources with which a project may begin, as ``sharedSources``.
    package var starterSources: String {
        Self.alternatives(sources.filter { $0.starter(tables: []) != nil }.map { $0.type })
    }

    /// What a project over a server begins with.
    ///
    /// - Parameters:
    ///   - type: The type of the source.
    ///   - password: The password of the account that it makes: letters, digits, `-` and `_`.
    /// - Returns: `nil` when there is no such project.
    package func serverStarter(ofType type: String, password: String) -> ServerStarter? {
        sources.first { $0.type == type }.flatMap { $0.serverStarter(password: password) }
    }

    /// The types of servers over which there are projects, as ``sharedSources``.
    package var serverStarters: String {
        Self.alternatives(sources.filter { $0.serverStarter(password: "") != nil }.map { $0.type })
    }

    /// The source that `--source` of a command names.
    ///
    /// - Parameters:
    ///   - argument: The path of a file, or an address, which may have a password.
    ///   - configured: The source of a service configuration, if there is one.
    /// - Returns: The source; `nil` when no kind knows the argument.
    /// - Throws: ``ServiceError``, which does not show the argument.
    package func source(
        named argument: String,
        like configured: (any SourceModule)? = nil
    ) throws -> (any SourceModule)? {
        let scheme = argument.firstRange(of: "://").map { argument[..<$0.lowerBound].lowercased() }
        // A kind may read addresses of others, to say what is wrong with them.
        let first = sources.filter { module in scheme.map { module.argumentForm.schemes.contains($0) } ?? false }
        for module in first + sources {
            if let source = try module.init(argument: argument, like: configured) { return source }
        }
        return nil
    }

    /// How `--source` of a command may name sources, the kinds with files first.
    package var argumentForms: [SourceArgumentForm] {
        let forms = sources.map { $0.argumentForm }
        return forms.filter { $0.passwordPlaces == nil } + forms.filter { $0.passwordPlaces != nil }
    }

    private static func alternatives(_ types: [String]) -> String { types.joined(separator: " or ") }

    private static func quoted(_ types: [String]) -> String {
        types.map { "\"\($0)\"" }.joined(separator: " or ")
    }
}

// MARK: Reading a configuration

extension Modules {
    /// Reads a connection; what is wrong is in the findings of the document.
    package func source(_ connection: inout YAMLSection) -> SourceConfiguration? {
        let (id, tag) = (connection.string("id", as: .name), connection.string("tag", as: .name))
        guard let type = connection.string("type") else {
            connection.fail("type", "missing; use \(Self.quoted(sources.map { $0.type }))")
            return nil
        }
        guard let module = sources.first(where: { $0.type == type }) else {
            connection.fail("type", refusal(ofSource: type))
            return nil
        }
        let read = connection.document.findings.withCode(.moduleKeys) { module.init(&connection) }
        guard let read else { return nil }
        var source = SourceConfiguration(read)
        if let id { source.id = id }
        if let tag { source.tag = tag }
        return source
    }

    /// Reads a storage; what is wrong is in the findings of the document.
    package func storage(_ section: inout YAMLSection) -> StorageConfiguration? {
        guard let type = section.string("type") else {
            section.fail("type", "missing; use \(Self.quoted(storages.map { $0.type }))")
            return nil
        }
        guard let module = storages.first(where: { $0.type == type }) else {
            section.fail("type", refusal(ofStorage: type))
            return nil
        }
        let read = section.document.findings.withCode(.moduleKeys) { module.init(&section) }
        return read.map { StorageConfiguration($0) }
    }

    private func refusal(ofSource type: String) -> String {
        guard unavailableTypes.contains(type) else {
            return "\"\(type)\" is not a known type; use \(Self.quoted(sources.map { $0.type }))"
        }
        let known = sources.map { module in "\"\(module.type)\"" + (module.summary.map { ", \($0)" } ?? "") }
        return "\(type) cannot be replicated by this version; its sources are \(known.joined(separator: ", and "))"
    }

    private func refusal(ofStorage type: String) -> String {
        guard unavailableTypes.contains(type) else {
            return "\"\(type)\" is not a known type; use \(Self.quoted(storages.map { $0.type }))"
        }
        let shared = storages.filter { $0.sharing == .anyNumber }.map { "\"\($0.type)\"" }
        let others = storages.filter { $0.sharing != .anyNumber }.map { "\"\($0.type)\" for one process" }
        return """
            buckets are not kept in \(type) here; use \((shared + others).joined(separator: ", or ")): buckets are made anew from the \
            source at the first start, and clients download them again
            """
    }
}
