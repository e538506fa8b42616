/// The path of a request as the router reads it: names between slashes, however many slashes there are.
///
/// Whatever decides by a path whom an answer is for has to ask this type, so that it decides about the route that
/// answers.
struct RoutePath {
    private let names: [Substring]

    /// Reads a path.
    init(_ path: String) {
        names = path.split(separator: "/")
    }

    /// Whether the path leads to a route, or to one below it.
    func isAtOrBelow(_ name: String) -> Bool { names.first.map { $0 == name } ?? false }
}
