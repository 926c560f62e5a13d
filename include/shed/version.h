// The version of shed. CMake reads these three lines: they are the only place that names it.
#ifndef SHED_VERSION_H_
#define SHED_VERSION_H_

#define SHED_VERSION_MAJOR 0
#define SHED_VERSION_MINOR 1
#define SHED_VERSION_PATCH 0

#endif  // SHED_VERSION_H_
