/// Where the rows of a service come from.
///
/// Each kind of source adds a function that makes one:
///
/// ```swift
/// let source = SourceConfiguration.embedded(path: "data/source.db", statements: [])
/// ```
public struct SourceConfiguration: Sendable {
    /// What knows the source.
    package let module: any SourceModule
    /// What the admin API calls it.
    package var id = "default"
    /// The tag of the connection that the admin API shows.
    package var tag = "default"

    /// Creates a source of some kind.
    package init(_ module: any SourceModule) {
        self.module = module
    }
}

extension SourceConfiguration: Equatable {
    /// Whether both have the same settings of the same kind.
    public static func == (left: SourceConfiguration, right: SourceConfiguration) -> Bool {
        func isEqual<Module: SourceModule>(_ module: Module) -> Bool { module == right.module as? Module }
        return isEqual(left.module) && left.id == right.id && left.tag == right.tag
    }
}
