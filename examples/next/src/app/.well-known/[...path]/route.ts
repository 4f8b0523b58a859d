export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from '../../poppy/[...path]/route.ts'
