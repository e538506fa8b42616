#if !Service && !Testing && !Generate
#error("This needs a package trait, \"Service\", \"Testing\" or \"Generate\": docs/packages.md")
#endif
