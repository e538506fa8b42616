/// A stream as the config file defines it, before its queries are compiled (docs/sync-config.md "The file").
struct StreamDefinition {
    /// One query with its place in the file.
    struct Query {
        /// The text.
        var text: String
        /// Where the text comes from.
        var source: ScalarSource
    }

    /// The name.
    var name: String
    /// The place of the name.
    var nameRange: Range<Int>
    /// The queries.
    var queries: [Query] = []
    /// Whether clients get the stream without subscribing.
    var isSubscribedByDefault = false
    /// The priority of its buckets.
    var priority: Int32 = 3
    /// Whether the warning about dangerous parameters is switched off.
    var acceptsDangerousQueries = false
}
