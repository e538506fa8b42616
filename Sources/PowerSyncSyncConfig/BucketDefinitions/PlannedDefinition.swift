/// A legacy bucket definition, before positions in the plan are known.
struct PlannedDefinition {
    /// The name, which is that of its buckets.
    var name: String
    /// The priority of its buckets, unless a parameter query says another one.
    var priority: Int32
    /// What becomes of rows; partition keys are in the order of the first parameter query.
    var evaluators: [DataQuery]
    /// How clients find the buckets, one way for each parameter query and `OR` branch.
    var ways: [PlannedWay]
}
